import { useMemo, useState } from "preact/hooks";
import { between } from "../../diff/between.ts";
import { type DiffFile, type Hunk, parsePatch } from "../../diff/parse.ts";
import { several } from "../../text/format.ts";
import type { Editor } from "../../wire/transport.ts";
import { usePanel } from "../context.ts";
import { Segments } from "../field.tsx";
import { useMedia } from "../hooks.ts";
import { FileDiff } from "./file.tsx";

/** More files or lines than this begin folded. */
const OPEN_FILES = 6;
const OPEN_LINES = 160;

/** A change, file by file: against the base, or against what the turn before had left. */
export function Diff(props: { patch: string; before: string | null; sinceLabel: string; run: string | null; workspace: string | null; comment: boolean }) {
  const { patch, before, sinceLabel } = props;
  const narrow = useMedia("(max-width: 720px)");
  const panel = usePanel();
  const step = useMemo(() => (before === null ? null : between(before, patch)), [before, patch]);
  const whole = useMemo(() => parsePatch(patch), [patch]);
  const [against, setAgainst] = useState<"step" | "base">(step === null ? "base" : "step");
  const [layout, setLayout] = useState<"inline" | "beside">("inline");
  const files = against === "step" && step !== null ? step : whole;
  const lines = files.reduce((sum, file) => sum + file.added + file.removed, 0);
  const open = files.length <= OPEN_FILES && lines <= OPEN_LINES * 2;
  return (
    <div class="diff">
      <div class="diff-head">
        <span class="muted">
          {several(files.length, "file")} <Counts files={files} />
        </span>
        {step !== null && (
          <Segments
            label="Compared with"
            value={against}
            options={[
              ["step", sinceLabel],
              ["base", "Whole change"],
            ]}
            onChoose={setAgainst}
          />
        )}
        {!narrow && (
          <Segments
            label="Layout"
            value={layout}
            options={[
              ["inline", "Inline"],
              ["beside", "Side by side"],
            ]}
            onChoose={setLayout}
          />
        )}
      </div>
      {files.length === 0 && <p class="muted diff-empty">Nothing is different from the turn before.</p>}
      {files.map((file) => (
        <FileDiff
          key={`${against} ${file.path}`}
          file={file}
          beside={layout === "beside" && !narrow}
          open={open || file.added + file.removed <= OPEN_LINES / files.length}
          onComment={
            props.run !== null && props.comment
              ? (line, text) => panel.comment(props.run as string, text, { path: file.path, line })
              : undefined
          }
          editor={editorOf(panel.transport.editor, props, file)}
        />
      ))}
    </div>
  );
}

function firstChange(hunk: Hunk | undefined): number {
  return hunk?.lines.find((line) => line.sign === "+")?.now ?? hunk?.newStart ?? 1;
}

/** What the editor around the panel can show of a file; nothing in a browser. */
function editorOf(editor: Editor | undefined, { run, workspace }: { run: string | null; workspace: string | null }, { path, hunks }: DiffFile) {
  if (editor === undefined || run === null) return undefined;
  return {
    diff: () => editor.openDiff(run, path),
    file: workspace === null ? undefined : () => editor.openFile(workspace, path, firstChange(hunks[0])),
  };
}

function Counts({ files }: { files: DiffFile[] }) {
  const added = files.reduce((sum, file) => sum + file.added, 0);
  const removed = files.reduce((sum, file) => sum + file.removed, 0);
  return <LineCounts added={added} removed={removed} />;
}

/** Added and removed lines. */
export function LineCounts({ added, removed }: { added: number; removed: number }) {
  return (
    <span class="counts number">
      <span class="added">+{added}</span> <span class="removed">−{removed}</span>
    </span>
  );
}
