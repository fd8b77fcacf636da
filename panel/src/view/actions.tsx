import { useState } from "preact/hooks";
import { isLive, isTakenBack } from "../model/headline.ts";
import type { RunModel } from "../model/run.ts";
import type { Limits, RunState } from "../wire/protocol.ts";
import { usePanel } from "./context.ts";
import { Confirm, Dialog } from "./dialog.tsx";

/** What can be done with the shown run as it stands: stop it, go on with it, bring its change in or take it back. */
export function RunActions({ model, state, online }: { model: RunModel; state: RunState | undefined; online: boolean }) {
  const panel = usePanel();
  const [asking, setAsking] = useState<"resume" | "undo" | "land" | null>(null);
  const { can, run } = { can: possible(model, state), run: model.run };
  const close = () => setAsking(null);
  return (
    <>
      {can.stop && (
        <button type="button" disabled={!online} onClick={() => void panel.stop(run)}>
          Stop
        </button>
      )}
      {can.resume && (
        <button type="button" disabled={!online} onClick={() => setAsking("resume")}>
          Resume
        </button>
      )}
      {can.land && (
        <button type="button" disabled={!online} onClick={() => setAsking("land")}>
          Land
        </button>
      )}
      {can.undo && (
        <button type="button" disabled={!online} onClick={() => setAsking("undo")}>
          Undo
        </button>
      )}
      {asking === "resume" && <ResumeDialog model={model} onClose={close} />}
      {asking === "land" && <LandDialog run={run} onClose={close} />}
      {asking === "undo" && (
        <Confirm
          title="Take the change back"
          text="The files in your tree become what they were before this change landed. What you changed in them since then is merged, or nothing happens."
          action="Take it back"
          onYes={() => void panel.undo(run)}
          onClose={close}
        />
      )}
    </>
  );
}

/** What the state of a run allows. The daemon decides; this only keeps buttons away that cannot work. */
export function possible(model: RunModel, state: RunState | undefined) {
  const standing = state?.standing;
  const { outcome } = model;
  const live = isLive(state);
  const stopped = outcome?.outcome === "not_approved" ? outcome.stopped_by : state?.stopped_by;
  const landed = state === undefined ? outcome?.outcome === "approved" && !model.takenBack : state.landed;
  return {
    stop: live,
    resume:
      !live &&
      ((standing === undefined && !model.over) || standing === "interrupted" || standing === "error" || stopped === "budget" || model.failure !== null),
    land: !live && !landed && (stopped === "not_landed" || isTakenBack(stopped) || standing === "approved"),
    undo: !live && landed,
  };
}

function LandDialog({ run, onClose }: { run: string; onClose: () => void }) {
  const panel = usePanel();
  const land = (how: "apply" | "commit") => {
    void panel.land(run, how);
    onClose();
  };
  return (
    <Dialog title="Bring the change into your tree" onClose={onClose}>
      <p>It is merged with what you have changed since, tested once more, and can be taken back with Undo.</p>
      <div class="buttons">
        <button type="button" class="primary" onClick={() => land("apply")}>
          Into my tree
        </button>
        <button type="button" onClick={() => land("commit")}>
          Commit it
        </button>
        <button type="button" class="quiet" onClick={onClose}>
          Cancel
        </button>
      </div>
    </Dialog>
  );
}

const LIMITS = [
  { key: "cost_micro_usd", label: "US dollars", scale: 1e6, step: "0.01" },
  { key: "tokens", label: "Tokens", scale: 1, step: "1000" },
  { key: "calls", label: "Requests", scale: 1, step: "1" },
  { key: "minutes", label: "Minutes", scale: 1, step: "1" },
] as const;

function ResumeDialog({ model, onClose }: { model: RunModel; onClose: () => void }) {
  const panel = usePanel();
  const budget = model.started?.event.budget ?? {};
  // A run that came to the end of its budget takes another one, and so does one that failed.
  const isSpent = model.outcome?.outcome === "not_approved" && model.outcome.stopped_by === "budget";
  const takesBudget = isSpent || model.failure !== null;
  const [texts, setTexts] = useState(() => LIMITS.map(({ key, scale }) => (budget[key] == null ? "" : String(budget[key] / scale))));
  const go = () => {
    const limits: Limits = {};
    for (const [index, { key, scale }] of LIMITS.entries()) {
      const amount = Math.round(Number(texts[index]) * scale);
      if (texts[index] !== "" && amount > 0 && amount !== budget[key]) limits[key] = amount;
    }
    void panel.resume(model.run, Object.keys(limits).length > 0 ? limits : null);
    onClose();
  };
  return (
    <Dialog title="Go on with this run" onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          go();
        }}
      >
        <p>
          It goes on where it stopped; nothing that was paid is paid again.
          {isSpent && " The limit that was reached has to be larger."}
        </p>
        <div class="limits" hidden={!takesBudget}>
          {LIMITS.map(({ key, label, step }, index) => (
            <label key={key}>
              {label}
              <input
                type="number"
                min="0"
                step={step}
                placeholder="no limit"
                value={texts[index]}
                onInput={({ currentTarget }) => setTexts(texts.map((text, at) => (at === index ? currentTarget.value : text)))}
              />
            </label>
          ))}
        </div>
        <div class="buttons">
          <button type="submit" class="primary">
            Resume
          </button>
          <button type="button" onClick={onClose}>
            Cancel
          </button>
        </div>
      </form>
    </Dialog>
  );
}
