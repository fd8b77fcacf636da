import { useEffect, useState } from "preact/hooks";
import type { Panel } from "../app/panel.ts";
import { headline, isLive } from "../model/headline.ts";
import type { RunModel } from "../model/run.ts";
import type { RunState } from "../wire/protocol.ts";
import { visible } from "../text/visible.ts";
import { IssuesCard } from "./card/issues.tsx";
import { RunCard } from "./card/run.tsx";
import { VerdictCard } from "./card/verdict.tsx";
import { conversation } from "../app/runs.ts";
import { Composer } from "./composer.tsx";
import { PanelContext } from "./context.ts";
import { Disconnected } from "./disconnected.tsx";
import { Header } from "./header.tsx";
import { History } from "./history.tsx";
import { useMedia } from "./hooks.ts";
import { Icon, ToneIcon } from "./icon.tsx";
import { Settings } from "./settings.tsx";
import { TimelineView } from "./timeline.tsx";
import { Rich } from "./text.tsx";
import { isTyping, Waiting } from "./waiting.tsx";

/** The whole panel. */
export function App({ panel }: { panel: Panel }) {
  const { store } = panel;
  const [, redraw] = useState(0);
  useEffect(() => store.watch(() => redraw((times) => times + 1)), [store]);
  const narrow = useMedia("(max-width: 900px)");
  // Three columns would leave the conversation a strip.
  const folded = useMedia("(max-width: 1150px)");
  const [listOpen, setListOpen] = useState(false);
  const { state } = store;
  const model = store.models.get(state.shown);
  const run = state.shown === null ? undefined : store.known.get(state.shown);
  const others = state.runs.filter((one) => one.standing === "waiting" && one.run !== state.shown);
  // A run without an end is not always one that goes on.
  const driven = !model.over && isLive(run);
  const asked = driven && model.questions.size > 0;
  useTitle(asked || others.length > 0, run);
  useSearchKey(() => setListOpen(true));
  const online = state.connection.phase === "open";
  const showList = !folded || listOpen;
  return (
    <PanelContext.Provider value={panel}>
      <div class={`panel${narrow ? " narrow" : folded ? " folded" : ""}`}>
        <Header state={state} model={model} run={run} narrow={narrow} folded={folded} listOpen={listOpen} onList={() => setListOpen(!listOpen)} />
        {showList && (
          <nav class="list" aria-label="Runs">
            <History state={state} onChosen={() => setListOpen(false)} />
          </nav>
        )}
        {state.configuration !== null ? (
          <main class="settings" aria-label="Settings">
            <Waiting model={model} driven={driven} others={others} />
            <Settings configuration={state.configuration} asked={asked} online={online} />
          </main>
        ) : (
          <>
            <main class="conversation" aria-label="Conversation">
              {narrow && state.shown !== null && <VerdictStrip model={model} run={run} driven={driven} />}
              {state.shown === null && <Welcome />}
              <TimelineView key={state.shown ?? ""} model={model} run={run} driven={driven} earlier={conversation(store.known, model.started?.event.follows ?? run?.follows ?? null)} />
              <div class="bottom">
                <Disconnected connection={state.connection} />
                <Waiting model={model} driven={driven} others={others} />
                <Notice panel={panel} />
                <Composer state={state} run={run} workspace={model.started?.event.workspace ?? run?.workspace ?? null} asked={asked} />
              </div>
            </main>
            {!narrow && state.shown !== null && (
              <aside class="cards" aria-label="Verdict and run" tabIndex={0}>
                <Cards model={model} run={run} driven={driven} />
              </aside>
            )}
          </>
        )}
      </div>
      <div class="unseen" aria-live="polite">
        {visible(state.announced.polite)}
      </div>
      <div class="unseen" aria-live="assertive">
        {visible(state.announced.urgent)}
      </div>
    </PanelContext.Provider>
  );
}

function Cards({ model, run, driven }: { model: RunModel; run: RunState | undefined; driven: boolean }) {
  return (
    <>
      <VerdictCard model={model} state={run} />
      <IssuesCard model={model} />
      <RunCard model={model} driven={driven} />
    </>
  );
}

/** On a narrow page the verdict is a line that opens. */
function VerdictStrip({ model, run, driven }: { model: RunModel; run: RunState | undefined; driven: boolean }) {
  const [open, setOpen] = useState(false);
  const head = headline(model, run);
  return (
    <div class="strip">
      <button type="button" class="strip-head" aria-expanded={open} onClick={() => setOpen(!open)}>
        <ToneIcon tone={head.tone} word="Verdict:" />
        <span>
          <strong class={`tone-${head.tone}`}>{head.title}</strong> <span class="muted">{head.sentence}</span>
        </span>
        <Icon name="chevron" />
      </button>
      {open && (
        <div class="strip-cards">
          <Cards model={model} run={run} driven={driven} />
        </div>
      )}
    </div>
  );
}

function Welcome() {
  return (
    <div class="welcome">
      <h2>What should be changed?</h2>
      <p class="muted">
        A builder writes it, a reviewer argues against it, and Checkmate runs the tests. Only what was shown to work is approved.
      </p>
    </div>
  );
}

function Notice({ panel }: { panel: Panel }) {
  const { notice } = panel.store.state;
  if (notice === null) return null;
  const { run } = notice;
  return (
    <div class={`notice ${notice.tone}`} role={notice.tone === "error" ? "alert" : "status"}>
      <p>
        <Rich text={notice.text} />
      </p>
      <div class="buttons">
        {run !== null && (
          <button type="button" onClick={() => panel.show(run)}>
            Show it
          </button>
        )}
        <button type="button" class="quiet" onClick={() => panel.dismiss()}>
          Dismiss
        </button>
      </div>
    </div>
  );
}

function useTitle(waiting: boolean, run: RunState | undefined): void {
  useEffect(() => {
    const name = run === undefined ? "Checkmate" : `${run.request.slice(0, 50)} – Checkmate`;
    document.title = waiting ? `● Waiting for you – ${name}` : name;
  }, [waiting, run?.run]);
}

/** `/` goes to the search, wherever nothing is being written. */
function useSearchKey(open: () => void): void {
  useEffect(() => {
    const pressed = (event: KeyboardEvent) => {
      if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      event.preventDefault();
      open();
      const toSearch = () => dispatchEvent(new Event("checkmate:search"));
      // What is typed next belongs to the search already; where the list is not there yet, it is after the next drawing.
      toSearch();
      requestAnimationFrame(toSearch);
    };
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  });
}
