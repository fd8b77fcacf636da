import type { RunModel } from "./runs.ts";
import { dollars, inLine, visible } from "./text.ts";
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
export function standingText({ standing, landed }: RunState): string {
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
  if (state.standing === "applied") return "APPLIED";
  if (state.standing === "not_approved") return "NOT APPROVED";
  switch (model?.verdict?.decision) {
    case "approved":
      return "APPROVED SO FAR";
    case "objections":
      return "CHANGES REQUESTED";
    case "blocked":
      return "BLOCKED SO FAR";
    case undefined:
      return standingText(state).toUpperCase();
  }
}

function gateLine({ gate, state, passed, message }: Gate): string {
  const mark = STATES[state] ?? (passed ? "✓" : "✗");
  return `  ${mark} ${inLine(gate).replaceAll("_", " ").padEnd(16)} ${inLine(message, 400)}`;
}

/** A question in a sentence, and the words on its buttons. */
export function questionWords(question: Question): { text: string; yes: string; always: string | null; no: string; shows: boolean } {
  switch (question.question) {
    case "command":
      return {
        text: `The ${inLine(question.role)} asks to run: ${inLine(question.line, 300)}`,
        yes: "Allow once",
        always: "Always",
        no: "Deny",
        shows: false,
      };
    case "patch":
      return {
        text: "The builder's change is ready, and nothing of it has run yet. May it be applied in the run's own tree?",
        yes: "Apply",
        always: null,
        no: "Decline",
        shows: true,
      };
    case "land":
      return {
        text: "The change is approved. Bring it into your working tree?",
        yes: "Bring into my tree",
        always: null,
        no: "Not now",
        shows: true,
      };
  }
}
