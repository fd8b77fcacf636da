import { several } from "../text/format.ts";
import type { Gate, RunState, StoppedBy } from "../wire/protocol.ts";
import { checkTone, workText } from "./checks.ts";
import type { RunModel } from "./run.ts";

/** How something stands, for its colour and sign. */
export type Tone = "ok" | "warn" | "err" | "busy" | "idle";

/** The sentence over the gates. */
export interface Headline {
  tone: Tone;
  title: string;
  sentence: string;
  /** What would let the change through; empty where nothing stands in its way. */
  changes: string[];
}

const STOPPED: Record<StoppedBy, string> = {
  max_iterations: "The turns are used up.",
  oscillation: "The builder and the reviewer go in circles.",
  moderator: "The moderator sided with the reviewer.",
  needs_human: "The reviewer wants a person to decide.",
  goal_conflict: "The goal and a test contradict each other.",
  unusable_reply: "An agent gave no usable reply.",
  landing_conflict: "Your later edits contradict the change.",
  not_landed: "It waits to be brought into your tree.",
  budget: "The budget leaves no room for the next step.",
  cancelled: "It was stopped.",
  dependency_failed: "A task that it depends on failed.",
};

/** What stopped a run, in a sentence. */
export function stoppedText(stopped: StoppedBy): string {
  return STOPPED[stopped];
}

/** What is to be said of a run in one sentence, from its events alone. */
export function headline(model: RunModel, state: RunState | undefined): Headline {
  if (model.started === null) return { tone: "idle", title: "No verdict yet", sentence: "", changes: [] };
  if (model.questions.size > 0) {
    const after = model.verdict?.verdict.decision === "approved" ? "Approved. " : "";
    return { tone: "warn", title: "Waiting for you", sentence: `${after}The run goes on when you have answered.`, changes: [] };
  }
  return model.over ? settled(model, state) : going(model);
}

function settled(model: RunModel, state: RunState | undefined): Headline {
  const { outcome } = model;
  const gates = model.verdict?.verdict.gates ?? [];
  const changes = gates.filter((gate) => !gate.passed && gate.state !== "pending").map(gateSentence);
  if (outcome?.outcome === "approved") {
    const seen = `${several(gates.filter((gate) => gate.state === "passed").length, "gate")} saw what they need, and none is against it.`;
    if (model.takenBack || (state !== undefined && !state.landed && state.standing === "approved")) {
      return { tone: "ok", title: "Approved", sentence: `${seen} The change was taken back from your tree.`, changes: [] };
    }
    const where = outcome.commit === null ? "in your working tree" : `in the commit ${outcome.commit.slice(0, 10)}`;
    return { tone: "ok", title: "Approved", sentence: `${seen} ${several(outcome.files.length, "file")} ${where}.`, changes: [] };
  }
  if (outcome?.outcome === "not_approved") {
    if (outcome.stopped_by === "not_landed") {
      return { tone: "ok", title: "Approved", sentence: "Nothing is against it. It is not in your tree yet.", changes: [] };
    }
    const open = model.findings.list().filter((one) => one.status === "open" || one.status === "confirmed");
    const findings = open.filter((one) => one.issue.severity !== "minor").map((one) => one.issue.description);
    return {
      tone: "err",
      title: "Not approved",
      sentence: STOPPED[outcome.stopped_by],
      changes: [...new Set([...changes, ...findings])],
    };
  }
  if (model.failure !== null) {
    return { tone: "err", title: "Stopped by an error", sentence: "Nothing is lost: the run can be resumed.", changes: [model.failure] };
  }
  return { tone: "idle", title: "Over", sentence: model.complete?.message ?? "", changes };
}

function going(model: RunModel): Headline {
  const busy = working(model);
  const decided = model.verdict?.turn === model.turn ? model.verdict.verdict : null;
  const changes = decided?.gates.filter((gate) => !gate.passed && gate.state !== "pending").map(gateSentence) ?? [];
  if (decided?.decision === "approved") return { tone: "ok", title: "Approved", sentence: busy, changes: [] };
  if (decided?.decision === "blocked") return { tone: "err", title: "Blocked", sentence: busy, changes };
  if (decided?.decision === "objections") return { tone: "warn", title: "Changes requested", sentence: busy, changes };
  const red = model.checks.find((one) => (one.check === "tests" || one.check === "merged") && checkTone(one) === "err");
  if (red !== undefined) return { tone: "err", title: "Tests are red", sentence: busy, changes: [] };
  const { review } = model;
  if (review !== null && review.review.verdict !== "approve") {
    const blockers = review.review.issues.filter((issue) => issue.severity !== "minor").length;
    const what = blockers > 0 ? several(blockers, "blocker") : several(review.review.issues.length, "suggestion");
    return { tone: "warn", title: "Changes requested", sentence: `${what} in turn ${review.turn}. ${busy}`, changes: [] };
  }
  return { tone: "busy", title: "Under way", sentence: busy, changes: [] };
}

/** What goes on at this moment. */
export function working(model: RunModel): string {
  const parts = [...model.parts.values()];
  const call = parts.find((part) => part.work.work === "call") ?? parts.at(-1);
  return call === undefined ? "" : `${workText(call.work)}.`;
}

function gateSentence(gate: Gate): string {
  return gate.message;
}

/** The tone of a run in the list. */
export function standingTone(state: RunState): { tone: Tone; word: string } {
  switch (state.standing) {
    case "queued":
      return { tone: "idle", word: "queued" };
    case "running":
      return { tone: "busy", word: state.turn > 0 ? `running · turn ${state.turn}` : "running" };
    case "waiting":
      return { tone: "warn", word: "needs you" };
    case "interrupted":
      return { tone: "idle", word: "interrupted" };
    case "approved":
      return { tone: "ok", word: state.landed ? "approved" : "approved · not in your tree" };
    case "not_approved":
      if (state.stopped_by === "cancelled") return { tone: "idle", word: "stopped" };
      if (state.stopped_by === "not_landed") return { tone: "ok", word: "approved · not in your tree" };
      return { tone: "err", word: `not approved · ${shortStop(state.stopped_by)}` };
    case "error":
      return { tone: "err", word: "error" };
  }
}

function shortStop(stopped: StoppedBy | null | undefined): string {
  const words: Partial<Record<StoppedBy, string>> = {
    max_iterations: "turn limit",
    oscillation: "in circles",
    needs_human: "a person decides",
    goal_conflict: "goal conflicts with a test",
    unusable_reply: "unusable reply",
    landing_conflict: "conflict with your edits",
    dependency_failed: "dependency failed",
  };
  return stopped == null ? "refused" : (words[stopped] ?? stopped);
}
