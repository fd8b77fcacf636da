import type { OpenQuestion, RunModel } from "./runs.ts";
import { dollars, folded, inLine, inNotification, spelledOut, visible } from "./text.ts";
import type { Gate, Question, RunState } from "./wire.ts";

const STATES: Record<string, string> = {
  passed: "✓",
  answered: "✓",
  absent: "–",
  objected: "!",
  blocked: "✗",
  pending: "·",
};

/** Where a run stands, for people. */
export function standingText({ standing, landed, stopped_by }: RunState): string {
  if (stopped_by === "taken_back" && !landed) return "taken back";
  switch (standing) {
    case "queued":
      return "queued";
    case "running":
      return "running";
    case "waiting":
      return "waiting for you";
    case "interrupted":
      return "interrupted";
    case "approved":
      return landed ? "approved and in your tree" : "approved";
    case "applied":
      return landed ? "applied" : "taken back";
    case "not_approved":
      return "not approved";
    case "error":
      return "error";
    default:
      // A newer daemon knows more words.
      return inLine(String(standing), 40).replaceAll("_", " ");
  }
}

/** How a run ended; `RUN` in a message stands for its name. */
export function messageOf({ message, run }: RunState): string {
  return visible(message).replace(/\bRUN\b/g, run);
}

/** The verdict as a page of plain text: the decision, then every gate with what it saw. */
export function verdictText(state: RunState, model: RunModel | undefined): string {
  const cost = dollars(state.usage.cost_micro_usd);
  const lines = [
    `${headline(state, model)}  ${inLine(state.request)}`,
    "",
    `run ${state.run} · turn ${state.turn} of ${state.of}${cost === "" ? "" : ` · ${cost}`} · ${standingText(state)}`,
    "",
  ];
  if (state.message !== "") lines.push(messageOf(state), "");
  const verdict = model?.verdict;
  if (verdict == null) {
    lines.push("There is no verdict yet: no candidate was judged.");
  } else {
    lines.push("Gates", ...verdict.gates.map(gateLine));
    if (verdict.criteria !== undefined && verdict.criteria.length > 0) {
      lines.push("", "What the goal asks for");
      for (const { text, holds } of verdict.criteria) {
        lines.push(`  ${holds === null ? "?" : holds ? "✓" : "✗"} ${inLine(text, 400)}`);
      }
    }
  }
  const findings = model?.findings.standing() ?? [];
  if (findings.length > 0) lines.push("", "Findings that stand");
  for (const { id, issue } of findings) {
    lines.push(`  ${issue.severity}  ${inLine(issue.description, 400)}  (${inLine(id)})`);
    if (issue.how_to_verify != null) lines.push(`      ${inLine(issue.how_to_verify, 400)}`);
  }
  if (state.files.length > 0) lines.push("", "Files", ...state.files.map((file) => `  ${visible(file)}`));
  return `${lines.join("\n")}\n`;
}

function headline(state: RunState, model: RunModel | undefined): string {
  if (state.standing === "approved") return "APPROVED";
  if (state.standing === "applied") return state.landed ? "APPLIED" : "TAKEN BACK";
  if (state.standing === "not_approved") return "NOT APPROVED";
  switch (model?.verdict?.decision) {
    case "approved":
      return "APPROVED SO FAR";
    case "objections":
      return "CHANGES REQUESTED";
    case "blocked":
      return "BLOCKED SO FAR";
    default:
      return standingText(state).toUpperCase();
  }
}

function gateLine({ gate, state, passed, message }: Gate): string {
  const mark = STATES[state] ?? (passed ? "✓" : "✗");
  return `  ${mark} ${inLine(gate).replaceAll("_", " ").padEnd(16)} ${inLine(message, 400)}`;
}

/** Says what is known of a message whose answer never came. */
export function lostText(sent: boolean): string {
  return sent
    ? "The connection to the daemon was lost before its answer came, so this may have been done. Look before you try again."
    : "There is no connection to the daemon, so nothing was done. Try again when it is back.";
}

/** The longest command that a notification shows. */
const SHORT = 300;
const WIDTH = 80;

/** A question in a sentence, and the words on its buttons; null for a button that is not there. */
export interface QuestionWords {
  text: string;
  yes: string | null;
  always: string | null;
  no: string;
  show: string | null;
}

/**
 * Says how a question is asked; null for one of a kind that this version does not know. A command may be allowed only
 * where every character of it can be read: in the notification, or on the page that was `seen`.
 */
export function questionWords(question: Question, seen = false): QuestionWords | null {
  switch (question.question) {
    case "command": {
      const { line } = question;
      const who = inLine(question.role, 40);
      const shown = inNotification(spelledOut(line), SHORT);
      const allow = { yes: "Allow once", always: "Always", no: "Deny" };
      if (shown === line) return { text: `The ${who} asks to run: ${line}`, ...allow, show: null };
      const begins = inNotification(spelledOut(line), 100);
      if (seen) return { text: `The ${who} asks to run the command that stands in the editor: ${begins}`, ...allow, show: "Show…" };
      const text = `The ${who} asks to run a command that can be read only on a page of its own: ${begins}`;
      return { text, yes: null, always: null, no: "Deny", show: "Show…" };
    }
    case "patch":
      return {
        text: "The builder's change is ready, and nothing of it has run yet. May it be applied in the run's own tree?",
        yes: "Apply",
        always: null,
        no: "Decline",
        show: "Show change",
      };
    case "land":
      return {
        text: "The change is approved. Bring it into your working tree?",
        yes: "Bring into my tree",
        always: null,
        no: "Not now",
        show: "Show change",
      };
    default:
      return null;
  }
}

/** A command as a page of text that leaves nothing out. */
export function commandPage({ run, question }: OpenQuestion): string {
  if (question.question !== "command") return "This question is about no command.\n";
  const spelled = spelledOut(question.line);
  const pieces = folded(spelled, WIDTH);
  const lines = [`The ${inLine(question.role, 40)} of the run ${inLine(run)} asks to run this command:`, "", ...pieces.map((piece) => `    ${piece}`), ""];
  lines.push(`It is one line of ${[...question.line].length} characters${pieces.length > 1 ? ", folded here for reading" : ""}.`);
  if (spelled !== question.line) lines.push("What cannot be seen is spelled out: \\n, \\r, \\t, or its number as in \\u{200b}.");
  lines.push("The notification about it asks whether it may run.");
  return `${lines.join("\n")}\n`;
}
