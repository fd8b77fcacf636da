import { useEffect, useRef, useState } from "preact/hooks";
import type { AppState } from "../app/state.ts";
import type { RunModel } from "../model/run.ts";
import { visible } from "../text/visible.ts";
import type { LandPolicy, TaskKind } from "../wire/protocol.ts";
import { usePanel } from "./context.ts";

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
export function Composer({ state, model, asked, driven }: { state: AppState; model: RunModel; asked: boolean; driven: boolean }) {
  const panel = usePanel();
  const area = useRef<HTMLTextAreaElement>(null);
  const [text, setText] = useState("");
  const [follow, setFollow] = useState(true);
  const [land, setLand] = useState<LandPolicy | "">("");
  const [kind, setKind] = useState<TaskKind | "">("");
  const [sending, setSending] = useState(false);
  const online = state.connection.phase === "open";
  const workspace = state.workspaces.find((one) => one.root === state.workspace);
  const usable = online && workspace !== undefined && workspace.problem === null;
  const live = state.shown !== null && model.started !== null && driven;
  const settled = state.shown !== null && model.started !== null && !driven;
  useEffect(() => {
    if (state.draft.stamp === 0) return;
    setText(state.draft.text);
    area.current?.focus();
  }, [state.draft.stamp]);
  const send = async (action: () => Promise<boolean>) => {
    if (text.trim() === "" || sending) return;
    setSending(true);
    const done = await action();
    setSending(false);
    if (done) setText("");
  };
  const run = () =>
    send(() => panel.runCycle(text, { follows: settled && follow ? state.shown : null, land: land || null, kind: kind || null }));
  const tell = () => send(() => panel.comment(state.shown as string, text, state.draft.about));
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
        onInput={(event) => setText(event.currentTarget.value)}
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
          <Choice label="When approved" value={land} options={LAND} onChoose={setLand} />
          <Choice label="Kind of change" value={kind} options={KINDS} onChoose={setKind} />
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
