import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { AppState } from "../app/state.ts";
import { standingTone } from "../model/headline.ts";
import { day, duration, money, several } from "../text/format.ts";
import { plain } from "../text/plain.ts";
import { visible } from "../text/visible.ts";
import type { RunState } from "../wire/protocol.ts";
import { usePanel } from "./context.ts";
import { rove } from "./hooks.ts";
import { Icon } from "./icon.tsx";
import { memo } from "./memo.ts";

/** The runs, by day, and what a search found among them. */
export const History = memo(
  ({ state, onChosen }: { state: AppState; onChosen: () => void }) => {
    const panel = usePanel();
    const { search, runs } = state;
    const names = repositories(state);
    const choose = (run: string | null) => {
      panel.show(run);
      onChosen();
    };
    return (
      <div class="history" onKeyDown={rove}>
        <div class="history-head">
          <SearchBox query={search?.query ?? ""} />
          <button type="button" class="new-run" onClick={() => choose(null)} aria-current={state.shown === null ? "true" : undefined}>
            <Icon name="plus" /> New request
          </button>
        </div>
        {search !== null ? (
          <SearchHits state={state} names={names} choose={choose} />
        ) : (
          <>
            {byDay(runs).map(([name, some]) => (
              <section key={name} aria-label={name}>
                <h3>{name}</h3>
                <ul>
                  {some.map((run) => (
                    <RunRow key={run.run} run={run} where={names?.get(run.workspace)} current={run.run === state.shown} excerpt={null} choose={choose} />
                  ))}
                </ul>
              </section>
            ))}
            {runs.length === 0 && <p class="muted history-empty">No runs yet. What you ask for appears here.</p>}
            {state.older !== null && (
              <button type="button" class="more" onClick={() => void panel.loadRuns(state.older)}>
                Older runs
              </button>
            )}
          </>
        )}
      </div>
    );
  },
  ({ state }) => [state.runs, state.search, state.shown, state.older, state.workspaces],
);

function SearchBox({ query }: { query: string }) {
  const panel = usePanel();
  const box = useRef<HTMLInputElement>(null);
  const [text, setText] = useState(query);
  const search = (words: string) => {
    setText(words);
    panel.search(words);
  };
  useLayoutEffect(() => {
    const focus = () => box.current?.focus();
    addEventListener("checkmate:search", focus);
    return () => removeEventListener("checkmate:search", focus);
  }, []);
  return (
    <input
      ref={box}
      type="search"
      aria-label="Search runs"
      aria-keyshortcuts="/"
      placeholder="Search runs…  ( / )"
      value={text}
      onInput={(event) => search(event.currentTarget.value)}
      onKeyDown={(event) => {
        if (event.key === "Escape") search("");
        if (event.key === "ArrowDown") {
          event.currentTarget.closest(".history")?.querySelector<HTMLElement>("[data-rove]")?.focus();
          event.preventDefault();
        }
      }}
    />
  );
}

function SearchHits(props: { state: AppState; names: ReadonlyMap<string, string> | null; choose: (run: string) => void }) {
  const { state, names, choose } = props;
  const hits = state.search?.hits ?? null;
  if (hits === null) return <p class="muted history-empty">Searching…</p>;
  const rest = state.search?.whole === false && <p class="muted history-empty">Older runs are still being read. Search again in a while for those.</p>;
  if (hits.length === 0) return rest || <p class="muted history-empty">No run has all of these words.</p>;
  return (
    <section aria-label="Found">
      <h3>{several(hits.length, "run")} found</h3>
      <ul>
        {hits.map(({ state: run, excerpt }) => (
          <RunRow key={run.run} run={run} where={names?.get(run.workspace)} current={run.run === state.shown} excerpt={excerpt} choose={choose} />
        ))}
      </ul>
      {rest}
    </section>
  );
}

/** What each repository is called, where there are several. */
function repositories({ workspaces, runs }: AppState): ReadonlyMap<string, string> | null {
  const names = new Map(workspaces.map(({ root, name }) => [root, name]));
  for (const { workspace } of runs) if (!names.has(workspace)) names.set(workspace, workspace.split(/[\\/]/).at(-1) ?? workspace);
  return names.size > 1 ? names : null;
}

function RunRow(props: { run: RunState; where: string | undefined; current: boolean; excerpt: string | null; choose: (run: string) => void }) {
  const { run, where, current, excerpt, choose } = props;
  const { tone, word } = standingTone(run);
  return (
    <li>
      <button type="button" class="run" data-rove aria-current={current ? "true" : undefined} onClick={() => choose(run.run)}>
        <span class={`dot tone-${tone}`} aria-hidden="true" />
        <span class="run-request">{visible(run.request)}</span>
        <span class="run-state number">{stateLine(run, word, where)}</span>
        {excerpt !== null && <Excerpt text={excerpt} />}
      </button>
    </li>
  );
}

function stateLine(run: RunState, word: string, where: string | undefined): string {
  const parts = run.follows == null ? [word] : ["follow-up", word];
  if (where !== undefined) parts.unshift(visible(where));
  if (run.standing === "approved" && run.turn > 0) parts.push(several(run.turn, "turn"));
  if (run.usage.cost_micro_usd != null && run.usage.cost_micro_usd > 0) parts.push(money(run.usage.cost_micro_usd));
  // What was taken back changed last when that was done, and not when the run ended.
  else if (run.standing === "approved" && run.landed) parts.push(duration(Date.parse(run.changed) - Date.parse(run.began)));
  return parts.join(" · ");
}

/** The words around what was found; what was searched for stands between U+0001 and U+0002. */
function Excerpt({ text }: { text: string }) {
  return (
    <span class="excerpt">
      {plain(text).split(/\u0001([^\u0002]*)\u0002/).map((piece, index) => (index % 2 === 1 ? <mark key={index}>{visible(piece)}</mark> : visible(piece)))}
    </span>
  );
}

function byDay(runs: RunState[]): [string, RunState[]][] {
  const now = new Date();
  const days = new Map<string, RunState[]>();
  for (const run of runs) {
    const name = day(run.began, now);
    const some = days.get(name);
    if (some === undefined) days.set(name, [run]);
    else some.push(run);
  }
  return [...days];
}
