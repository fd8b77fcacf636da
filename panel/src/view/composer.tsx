import { useEffect, useRef, useState } from "preact/hooks";
import type { AppState } from "../app/state.ts";
import { isLive } from "../model/headline.ts";
import { visible } from "../text/visible.ts";
import type { LandPolicy, RunId, RunState, TaskKind } from "../wire/protocol.ts";
import { usePanel } from "./context.ts";
import { useMedia } from "./hooks.ts";

const LAND: [LandPolicy | "", string][] = [
  ["", "Land as configured"],
  ["ask", "Ask before landing"],
  ["apply", "Land in my tree"],
  ["commit", "Land as a commit"],
];
const KINDS: [TaskKind | "", string][] = [
  ["", "Any kind of change"],
  ["feature", "Feature"],
  ["bugfix", "Bugfix"],
  ["refactor", "Refactoring"],
  ["docs", "Documentation"],
  ["tests", "Tests"],
  ["chore", "Chore"],
];

/** The request box. */
export function Composer(props: { state: AppState; run: RunState | undefined; workspace: string | null; asked: boolean }) {
  const { state, run: shown, asked } = props;
  const panel = usePanel();
  const area = useRef<HTMLTextAreaElement>(null);
  const text = state.drafts.get(state.shown) ?? "";
  const [follow, setFollow] = useState(true);
  const [land, setLand] = useState<LandPolicy | "">("");
  const [kind, setKind] = useState<TaskKind | "">("");
  const [sending, setSending] = useState(false);
  const online = state.connection.phase === "open";
  const workspace = state.workspaces.find((one) => one.root === state.workspace);
  const usable = online && workspace !== undefined && workspace.problem === null;
  const live = isLive(shown);
  // A run of another repository is nothing to go on from here.
  const settled = state.shown !== null && !live && props.workspace !== null && props.workspace === state.workspace;
  const drafted = useRef(state.drafted);
  useEffect(() => {
    if (state.drafted !== drafted.current) area.current?.focus();
    drafted.current = state.drafted;
  }, [state.drafted]);
  const send = async (action: (words: string, view: RunId | null) => Promise<boolean>) => {
    // What was typed just now may not be drawn yet.
    const { shown: view, drafts } = panel.store.state;
    const words = drafts.get(view) ?? "";
    if (words.trim() === "" || sending) return;
    setSending(true);
    const done = await action(words, view);
    setSending(false);
    if (done) panel.write("", view);
  };
  const run = () =>
    send((words, view) => panel.runCycle(words, { follows: settled && follow ? view : null, land: land || null, kind: kind || null }));
  const tell = () => send((words, view) => panel.comment(view as RunId, words, null));
  const ready = usable && text.trim() !== "" && !sending;
  return (
    <form
      class="composer"
      onSubmit={(event) => {
        event.preventDefault();
        void (live ? tell() : run());
      }}
    >
      <label class="unseen" for="request">
        {live ? "What to tell the builder, or a new request" : "What should be changed"}
      </label>
      <textarea
        id="request"
        ref={area}
        rows={2}
        value={text}
        placeholder={live ? "Tell the builder something, or ask for another change…" : "Ask for a change…   Ctrl+Enter runs the cycle"}
        onInput={(event) => panel.write(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
          event.preventDefault();
          void (live ? tell() : run());
        }}
      />
      <div class="composer-row">
        <div class="options">
          {settled && (
            <label class="check">
              <input type="checkbox" checked={follow} onChange={(event) => setFollow(event.currentTarget.checked)} /> Goes on from this run
            </label>
          )}
          <Choices land={land} kind={kind} onLand={setLand} onKind={setKind} />
          {workspace !== undefined && workspace.problem !== null && (
            <span class="err">{visible(workspace.problem)}</span>
          )}
        </div>
        <div class="buttons">
          <button type="button" disabled={!usable} onClick={() => void panel.runTests()}>
            Run Tests
          </button>
          {live && (
            <button type="submit" class={asked ? undefined : "primary"} disabled={!ready}>
              Tell the builder
            </button>
          )}
          <button type="button" class={live || asked ? undefined : "primary"} disabled={!ready} onClick={() => void run()}>
            Run Cycle
          </button>
        </div>
      </div>
    </form>
  );
}

/** How a change lands and what kind it is; folded where the page is small. */
function Choices(props: { land: LandPolicy | ""; kind: TaskKind | ""; onLand: (land: LandPolicy | "") => void; onKind: (kind: TaskKind | "") => void }) {
  const { land, kind, onLand, onKind } = props;
  const small = useMedia("(max-width: 480px)");
  const choices = (
    <>
      <Choice label="When approved" value={land} options={LAND} onChoose={onLand} />
      <Choice label="Kind of change" value={kind} options={KINDS} onChoose={onKind} />
    </>
  );
  if (!small) return choices;
  return (
    <details class="fold options-fold">
      <summary>{land === "" && kind === "" ? "Options" : "Options, changed"}</summary>
      {choices}
    </details>
  );
}

function Choice<T extends string>(props: { label: string; value: T; options: [T, string][]; onChoose: (value: T) => void }) {
  return (
    <label class="choice">
      <span class="unseen">{props.label}</span>
      <select value={props.value} onChange={(event) => props.onChoose(event.currentTarget.value as T)}>
        {props.options.map(([value, text]) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}
