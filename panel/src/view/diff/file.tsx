import { useRef, useState } from "preact/hooks";
import { pairs } from "../../diff/pair.ts";
import type { DiffFile, DiffLine, Hunk } from "../../diff/parse.ts";
import { visible } from "../../text/visible.ts";
import { WordsForm } from "../field.tsx";
import { rove, useFocusBack } from "../hooks.ts";
import { Icon } from "../icon.tsx";
import { LineCounts } from "./diff.tsx";

/** So many lines are drawn at first. */
const FIRST_LINES = 400;

type Choose = (line: number, number: HTMLElement) => void;
type SendComment = (line: number, text: string) => Promise<boolean>;

/** One file of a change. Its line numbers are where a comment to the builder begins. */
export function FileDiff(props: { file: DiffFile; beside: boolean; open: boolean; onComment?: SendComment; editor?: { diff: () => void; file?: () => void } | undefined }) {
  const { file, beside, onComment, editor } = props;
  const [open, setOpen] = useState(props.open);
  const [all, setAll] = useState(false);
  const total = file.hunks.reduce((sum, hunk) => sum + hunk.lines.length, 0);
  return (
    <section class="file">
      <div class="file-head">
        <button type="button" class="file-name" aria-expanded={open} onClick={() => setOpen(!open)}>
          <Icon name="chevron" />
          <span class="mono">
            {file.oldPath !== null && <span class="muted">{visible(file.oldPath)} → </span>}
            {visible(file.path)}
          </span>
          <LineCounts added={file.added} removed={file.removed} />
          {file.change !== "modified" && <span class="tag">{file.change}</span>}
        </button>
        {editor !== undefined && (
          <button type="button" class="link" onClick={editor.diff}>
            Open in editor
          </button>
        )}
        {editor?.file !== undefined && (
          <button type="button" class="link" onClick={editor.file}>
            Open file
          </button>
        )}
      </div>
      {open && (
        <>
          {file.mode !== null && <p class="muted diff-empty">Mode {file.mode}</p>}
          {file.binary && <p class="muted diff-empty">A binary file.</p>}
          {file.hunks.length > 0 && <Lines file={file} beside={beside} limit={all ? Number.POSITIVE_INFINITY : FIRST_LINES} onComment={onComment} />}
          {!all && total > FIRST_LINES && (
            <button type="button" class="more" onClick={() => setAll(true)}>
              Show {total - FIRST_LINES} more lines
            </button>
          )}
        </>
      )}
    </section>
  );
}

function Lines({ file, beside, limit, onComment }: { file: DiffFile; beside: boolean; limit: number; onComment: SendComment | undefined }) {
  const [at, setAt] = useState<number | null>(null);
  const [words, setWords] = useState("");
  const opener = useRef<HTMLElement | null>(null);
  useFocusBack(at !== null, () => opener.current);
  const begin = (line: number, number: HTMLElement) => {
    opener.current = number;
    setAt(line);
  };
  const commenting = (line: DiffLine): boolean => at !== null && line.now === at;
  const form = at !== null && onComment !== undefined && (
    <div class="line-form">
      <WordsForm
        label={`To the builder, about line ${at}`}
        action="Send"
        value={words}
        onInput={setWords}
        onSend={() =>
          void onComment(at, words).then((sent) => {
            if (!sent) return;
            setAt(null);
            setWords("");
          })
        }
        onCancel={() => setAt(null)}
      />
    </div>
  );
  let left = limit;
  return (
    <div
      class={`lines mono${beside ? " beside" : ""}`}
      tabIndex={0}
      role="group"
      aria-label={`Lines of ${file.path}.${onComment === undefined ? "" : " Arrow keys move, Enter comments on a line."}`}
      onKeyDown={rove}
    >
      {file.hunks.map((hunk, index) => {
        const lines = left >= hunk.lines.length ? hunk.lines : hunk.lines.slice(0, Math.max(0, left));
        left -= lines.length;
        if (lines.length === 0) return null;
        const choose = onComment === undefined ? undefined : begin;
        return (
          <div key={index} class="hunk">
            {(index > 0 || hunk.title !== "") && <HunkHead hunk={hunk} />}
            {beside
              ? pairs(lines).map((pair, row) => (
                  <div key={row}>
                    <div class="pair">
                      <Side line={pair.old} side="old" path={file.path} />
                      <Side line={pair.now} side="now" path={file.path} onChoose={choose} />
                    </div>
                    {pair.now !== null && commenting(pair.now) && form}
                  </div>
                ))
              : lines.map((line, row) => (
                  <div key={row}>
                    <div class={`line ${SIGNS[line.sign]}`}>
                      <span class="no">{line.old ?? ""}</span>
                      <LineNumber line={line} path={file.path} onChoose={choose} />
                      <LineText line={line} />
                    </div>
                    {commenting(line) && form}
                  </div>
                ))}
          </div>
        );
      })}
    </div>
  );
}

const SIGNS = { " ": "same", "+": "add", "-": "del" } as const;

function HunkHead({ hunk }: { hunk: Hunk }) {
  return <div class="hunk-head">⋯ {visible(hunk.title)}</div>;
}

function LineNumber({ line, path, onChoose }: { line: DiffLine; path: string; onChoose: Choose | undefined }) {
  const { now } = line;
  if (now === null || onChoose === undefined) return <span class="no">{now ?? ""}</span>;
  return (
    <button type="button" class="no" tabIndex={-1} data-rove aria-label={`Comment on line ${now} of ${path}`} onClick={(event) => onChoose(now, event.currentTarget)}>
      {now}
    </button>
  );
}

function LineText({ line }: { line: DiffLine }) {
  return (
    <span class="text">
      <span class="sign">{line.sign}</span>
      {visible(line.text)}
      {line.open && <span class="muted"> (no line break at the end)</span>}
    </span>
  );
}

function Side(props: { line: DiffLine | null; side: "old" | "now"; path: string; onChoose?: Choose | undefined }) {
  const { line, side, path, onChoose } = props;
  if (line === null) return <div class="line none" />;
  return (
    <div class={`line ${SIGNS[line.sign]}`}>
      {side === "old" ? <span class="no">{line.old ?? ""}</span> : <LineNumber line={line} path={path} onChoose={onChoose} />}
      <LineText line={line} />
    </div>
  );
}
