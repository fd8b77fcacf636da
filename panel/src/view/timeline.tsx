import { useCallback, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Block, Section } from "../model/item.ts";
import type { RunModel } from "../model/run.ts";
import { standingTone } from "../model/headline.ts";
import { several } from "../text/format.ts";
import { visible } from "../text/visible.ts";
import type { RunState } from "../wire/protocol.ts";
import { usePanel } from "./context.ts";
import { LineCounts } from "./diff/diff.tsx";
import { Icon, ToneIcon } from "./icon.tsx";
import { LiveMessages } from "./live.tsx";
import { memo } from "./memo.ts";
import { MessageFrame } from "./message/frame.tsx";
import { Message } from "./message/message.tsx";
import { Rich } from "./text.tsx";
import { Windowed } from "./windowed.tsx";

/** Fewer blocks than this are all in the page, so that the browser's own search finds everything. */
const WINDOWED_FROM = 40;
const NEAR_THE_END_PX = 80;

/** The conversation: turns, the settled ones folded, and what goes on at the end. */
export function TimelineView(props: { model: RunModel; run: RunState | undefined; driven: boolean; earlier: RunState[] }) {
  const { model, run, driven, earlier } = props;
  const { scroller, inner, onScroll, away, toEnd } = useFollowing();
  const [folds, setFolds] = useState<ReadonlyMap<number, boolean>>(new Map());
  const toggle = useCallback((key: number, open: boolean) => setFolds((known) => new Map(known).set(key, open)), []);
  const { sections } = model.timeline;
  const lastTurn = sections.findLast((section) => section.turn !== null)?.key;
  const blocks = sections.reduce((sum, section) => sum + section.blocks.length, 0);
  return (
    <>
      <div
        class="timeline"
        ref={scroller}
        tabIndex={0}
        role="log"
        aria-live="off"
        aria-label="Conversation"
        onScroll={onScroll}
      >
        <div class="timeline-inner" ref={inner}>
          <Earlier runs={earlier} />
          {model.started === null && run !== undefined && <Announced run={run} />}
          {sections.map((section) => (
            <SectionView
              key={section.key}
              section={section}
              model={model}
              open={folds.get(section.key) ?? (section.turn === null || section.key === lastTurn)}
              windowed={blocks > WINDOWED_FROM}
              revision={section.revision}
              findings={model.findings.revision}
              over={model.over}
              toggle={toggle}
            />
          ))}
          {driven && <LiveMessages model={model} />}
        </div>
      </div>
      {away && (
        <div class="to-end">
          <button type="button" onClick={toEnd}>
            To the latest
          </button>
        </div>
      )}
    </>
  );
}

/** Keeps the end in sight as things are added, until the person scrolls up, and again when they are back at the end. */
function useFollowing() {
  const scroller = useRef<HTMLDivElement>(null);
  const inner = useRef<HTMLDivElement>(null);
  const follows = useRef(true);
  /** Where the last step to the end came to rest: a scroll to there was not the person's. */
  const rest = useRef(0);
  const [away, setAway] = useState(false);
  useLayoutEffect(() => {
    const toEnd = () => {
      const element = scroller.current;
      if (element === null || !follows.current) return;
      element.scrollTop = element.scrollHeight;
      rest.current = element.scrollTop;
    };
    toEnd();
    const sizes = new ResizeObserver(toEnd);
    if (inner.current !== null) sizes.observe(inner.current);
    if (scroller.current !== null) sizes.observe(scroller.current);
    return () => sizes.disconnect();
  }, []);
  const onScroll = useCallback(({ currentTarget: at }: { currentTarget: HTMLElement }) => {
    const isAtEnd = at.scrollHeight - at.scrollTop - at.clientHeight < NEAR_THE_END_PX;
    if (isAtEnd) follows.current = true;
    else if (Math.abs(at.scrollTop - rest.current) > 2) follows.current = false;
    setAway(!follows.current);
    // The browser keeps what is read in its place, but not while the end is what is read.
    at.style.overflowAnchor = follows.current ? "none" : "auto";
  }, []);
  const toEnd = useCallback(() => {
    const element = scroller.current;
    if (element === null) return;
    element.scrollTop = element.scrollHeight;
    element.focus();
  }, []);
  return { scroller, inner, onScroll, away, toEnd };
}

/** What is known of a run that has told nothing yet. */
function Announced({ run }: { run: RunState }) {
  return (
    <>
      <MessageFrame kind="user" at={run.began}>
        <p class="words">
          <Rich text={run.request} />
        </p>
      </MessageFrame>
      {run.standing === "queued" && (
        <MessageFrame kind="status">
          <p class="muted">Queued: it begins when its turn comes.</p>
        </MessageFrame>
      )}
    </>
  );
}

/** The runs that this one goes on from, the first one first. */
function Earlier({ runs }: { runs: RunState[] }) {
  const panel = usePanel();
  if (runs.length === 0) return null;
  return (
    <ol class="earlier" aria-label="Earlier in this conversation">
      {runs.map((run) => {
        const { tone, word } = standingTone(run);
        return (
          <li key={run.run}>
            <button type="button" onClick={() => panel.show(run.run)}>
              <ToneIcon tone={tone} word={word} />
              <span>{visible(run.request)}</span>
              <span class="muted">{word}</span>
            </button>
          </li>
        );
      })}
    </ol>
  );
}

interface SectionProps {
  section: Section;
  model: RunModel;
  open: boolean;
  windowed: boolean;
  revision: number;
  findings: number;
  over: boolean;
  toggle: (key: number, open: boolean) => void;
}

const SectionView = memo(
  ({ section, model, open, windowed, findings, over, toggle }: SectionProps) => {
    const blocks = section.blocks.map((block) =>
      windowed ? (
        <Windowed key={block.key} guess={block.items.length * 60}>
          <BlockView block={block} model={model} revision={block.revision} findings={findings} over={over} />
        </Windowed>
      ) : (
        <BlockView key={block.key} block={block} model={model} revision={block.revision} findings={findings} over={over} />
      ),
    );
    if (section.turn === null) return <div class="section">{blocks}</div>;
    return (
      <section class="section turn" aria-label={`Turn ${section.turn}`}>
        <h2>
          <button type="button" class="turn-head" aria-expanded={open} onClick={() => toggle(section.key, !open)}>
            <Icon name="chevron" />
            <span>Turn {section.turn}</span>
            {!open && <TurnSummary section={section} />}
          </button>
        </h2>
        {open && blocks}
      </section>
    );
  },
  ({ section, revision, open, windowed, findings, over }) => [section, revision, open, windowed, findings, over],
);

function TurnSummary({ section }: { section: Section }) {
  const { added, removed, files, tests, testsRed, verdict, blockers, suggestions } = section.summary;
  return (
    <span class="turn-summary">
      {files > 0 && <LineCounts added={added} removed={removed} />}
      {tests !== null && <span>{testsRed ? `${several(tests.failed, "test")} failed` : `${tests.passed} passed`}</span>}
      {verdict !== null && (
        <span class="turn-verdict">
          <ToneIcon tone={verdict === "approve" ? "ok" : "warn"} word={verdict.replaceAll("_", " ")} />
          {blockers > 0 ? several(blockers, "blocker") : suggestions > 0 ? several(suggestions, "suggestion") : "no findings"}
        </span>
      )}
    </span>
  );
}

interface BlockProps {
  block: Block;
  model: RunModel;
  revision: number;
  findings: number;
  over: boolean;
}

const BlockView = memo(
  ({ block, model }: BlockProps) => (
    <>
      {block.items.map((item) => (
        <Message key={item.key} item={item} model={model} />
      ))}
    </>
  ),
  ({ block, revision, findings, over }) => [block, revision, findings, over],
);
