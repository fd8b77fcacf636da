import type { Item } from "../model/item.ts";
import type { RunModel } from "../model/run.ts";
import { questionText } from "../model/questions.ts";
import { checkTitle } from "../model/checks.ts";
import type { AppState } from "./state.ts";

/** What a screen reader should say now: the latest message, and first of all a question. */
export function announce(state: AppState, model: RunModel, behind: boolean): AppState["announced"] {
  const question = model.questions.values().next().value;
  const urgent = question === undefined ? "" : `Waiting for you: ${questionText(question.question)}`;
  if (behind) return { polite: state.announced.polite, urgent };
  const last = model.timeline.last?.blocks.at(-1)?.items.at(-1);
  return { polite: last === undefined ? "" : brief(last), urgent };
}

function brief(item: Item): string {
  switch (item.kind) {
    case "user":
      return `You: ${item.text}`;
    case "status":
      return item.lines.at(-1)?.text ?? "";
    case "builder":
      return `Builder: ${item.reply.plan.join(". ")}`;
    case "reviewer":
      return `${item.role === "moderator" ? "Moderator" : "Reviewer"}: ${item.text}`;
    case "patch":
      return `A patch for turn ${item.turn} is ready.`;
    case "tests":
      return `${checkTitle(item.output.check)}: ${item.output.exitCode === 0 ? "green" : `exit ${item.output.exitCode}`}.`;
    case "evidence":
      return `Evidence: ${item.outputs.length} runs.`;
    case "review":
      return `Review: ${item.review.verdict.replaceAll("_", " ")}, ${item.review.issues.length} findings.`;
    case "success":
      return `Success: ${item.text}`;
    case "warning":
      return `Warning: ${item.text}`;
    case "error":
      return `Error: ${item.text}`;
  }
}
