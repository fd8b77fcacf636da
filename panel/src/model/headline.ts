import { several } from "../text/format.ts";
import type { RunState, StoppedBy } from "../wire/protocol.ts";
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
  /** The turn that it speaks of. */
  turn: number;
}

const NEXT: Partial<Record<StoppedBy, string>> = {
  max_iterations: "Ask again as a follow-up: the next run knows what this one has done. Or raise `max_iterations` in the settings.",
  oscillation: "Decide the open point and say it in a follow-up.",
  moderator: "Say in a follow-up what the builder should do about the findings.",
  needs_human: "Decide, and say it in a follow-up.",
  goal_conflict: "Say in a follow-up which is right: the goal, or the test.",
  unusable_reply: "Ask again, or choose another model in the settings.",
  landing_conflict: "Settle the conflict in your tree, then land the change.",
  budget: "Resume it with a larger budget.",
};

const STOPPED: Record<StoppedBy, string> = {
  max_iterations: "The turns are used up.",
  oscillation: "The builder and the reviewer go in circles.",
  moderator: "The moderator sided with the reviewer.",
  needs_human: "The reviewer wants a person to decide.",
  goal_conflict: "The goal and a test contradict each other.",
  unusable_reply: "An agent gave no usable reply.",
  landing_conflict: "Your later edits contradict the change.",
  not_applied: "The patch does not fit your tree.",
  taken_back: "Your patch was applied, and taken back.",
  not_landed: "It waits to be brought into your tree.",
  budget: "The budget leaves no room for the next step.",
  cancelled: "It was stopped.",
  dependency_failed: "A task that it depends on failed.",
};

/** Whether it is a patch of the person's own that was applied and then taken back. */
export function isTakenBack(stopped: string | null | undefined): boolean {
  return stopped === "taken_back";
}

/** What stopped a run, in a sentence. */
export function stoppedText(stopped: StoppedBy): string {
  return STOPPED[stopped];
}

/** Whether somebody drives a run, or will when its turn comes. Of one whose state is not known that cannot be said. */
export function isLive(state: RunState | undefined): boolean {
  return state !== undefined && ["queued", "running", "waiting"].includes(state.standing);
}

/** What is to be said of a run in one sentence, from its events alone. */
export function headline(model: RunModel, state: RunState | undefined): Headline {
  const verdictTurn = model.verdict?.turn ?? model.turn;
  if (state?.standing === "queued") {
    return { tone: "idle", title: "Queued", sentence: "It begins when its turn comes.", changes: [], turn: verdictTurn };
  }
  if (model.started === null) return { tone: "idle", title: "No verdict yet", sentence: "", changes: [], turn: 0 };
  if (state === undefined && !model.over) {
    const sentence = "It has no end, and whether somebody drives it is not known here. If nobody does, Resume goes on with it.";
    return { tone: "idle", title: "Not over", sentence, changes: [], turn: verdictTurn };
  }
  if (state?.standing === "interrupted" && !model.over) {
    const sentence = "Nobody drives it. Resume goes on where it stopped.";
    return { tone: "idle", title: "Interrupted", sentence, changes: [], turn: verdictTurn };
  }
  if (model.questions.size > 0) {
    const after = model.verdict?.verdict.decision === "approved" ? "Approved. " : "";
    const sentence = `${after}The run goes on when you have answered.`;
    return { tone: "warn", title: "Waiting for you", sentence, changes: [], turn: verdictTurn };
  }
  return model.over ? { ...settled(model, state), turn: verdictTurn } : going(model);
}

type Told = Omit<Headline, "turn">;

function settled(model: RunModel, state: RunState | undefined): Told {
  const { outcome } = model;
  const gates = model.verdict?.verdict.gates ?? [];
  const changes = gates.filter((gate) => !gate.passed && gate.state !== "pending").map((gate) => gate.message);
  if (outcome?.outcome === "approved") {
    const seen = `${several(gates.filter((gate) => gate.state === "passed").length, "gate")} saw what they need, and none is against it.`;
    if (model.takenBack || (state !== undefined && !state.landed && state.standing === "approved")) {
      return { tone: "ok", title: "Approved", sentence: `${seen} The change was taken back from your tree.`, changes: [] };
    }
    const where = outcome.commit == null ? "in your working tree" : `in the commit ${outcome.commit.slice(0, 10)}`;
    return { tone: "ok", title: "Approved", sentence: `${seen} ${several(outcome.files.length, "file")} ${where}.`, changes: [] };
  }
  if (outcome?.outcome === "not_approved") {
    const { stopped_by } = outcome;
    if (stopped_by === "not_landed") {
      const where = model.takenBack ? "The change was taken back from your tree." : "It is not in your tree yet.";
      return { tone: "ok", title: "Approved", sentence: `Nothing is against it. ${where}`, changes: [] };
    }
    if (isTakenBack(stopped_by)) {
      return { tone: "idle", title: "Taken back", sentence: "Your patch was taken back from your tree. Land brings it in again.", changes: [] };
    }
    const next = NEXT[stopped_by];
    const title = stopped_by === "cancelled" ? "Stopped" : "Not approved";
    return { tone: "err", title, sentence: STOPPED[stopped_by], changes: next === undefined ? changes : [...changes, next] };
  }
  if (model.failure !== null) {
    return { tone: "err", title: "Stopped by an error", sentence: "Nothing is lost: the run can be resumed.", changes: [model.failure] };
  }
  return { tone: "idle", title: "Over", sentence: model.complete?.message ?? "", changes };
}

function going(model: RunModel): Headline {
  const busy = working(model);
  // While the next candidate has not been tested, the latest verdict speaks.
  const current = model.verdict !== null && model.verdict.turn >= model.checksTurn ? model.verdict : null;
  const decided = current?.verdict ?? null;
  const changes = decided?.gates.filter((gate) => !gate.passed && gate.state !== "pending").map((gate) => gate.message) ?? [];
  const now = { sentence: busy, changes, turn: current?.turn ?? model.turn };
  if (decided?.decision === "approved") return { ...now, tone: "ok", title: "Approved" };
  if (decided?.decision === "blocked") return { ...now, tone: "err", title: "Blocked" };
  if (decided?.decision === "objections") return { ...now, tone: "warn", title: "Changes requested" };
  const red = model.checks.some((one) => (one.check === "tests" || one.check === "merged") && checkTone(one) === "err");
  if (red) return { ...now, tone: "err", title: "Tests are red", turn: model.checksTurn };
  const { review } = model;
  if (review !== null && review.review.verdict !== "approve" && review.turn >= model.checksTurn) {
    const blockers = review.review.issues.filter((issue) => issue.severity !== "minor").length;
    const what = blockers > 0 ? several(blockers, "blocker") : several(review.review.issues.length, "suggestion");
    return { tone: "warn", title: "Changes requested", sentence: `${what} in turn ${review.turn}. ${busy}`, changes: [], turn: review.turn };
  }
  return { ...now, tone: "busy", title: "Under way", turn: model.checksTurn === 0 ? model.turn : model.checksTurn };
}

/** What goes on at this moment. */
export function working(model: RunModel): string {
  const parts = [...model.parts.values()];
  const call = parts.find((part) => part.work.work === "call") ?? parts.at(-1);
  return call === undefined ? "" : `${workText(call.work)}.`;
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
    case "applied":
      return { tone: "ok", word: state.landed ? "your patch · applied" : "your patch · taken back" };
    case "not_approved":
      if (state.stopped_by === "cancelled") return { tone: "idle", word: "stopped" };
      if (isTakenBack(state.stopped_by)) return { tone: "idle", word: "your patch · taken back" };
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
