import { ROLES } from "./checks.ts";
import type { Question } from "../wire/protocol.ts";

/** The question in a sentence. */
export function questionText(question: Question): string {
  switch (question.question) {
    case "command":
      return `The ${ROLES[question.role].toLowerCase()} asks to run \`${question.line}\`.`;
    case "patch":
      return "The builder's change is ready. Nothing of it has run yet. May it be applied in the run's own tree?";
    case "land":
      return "The change is approved. Bring it into your tree?";
  }
}

/** The words on the buttons. */
export function answersOf(question: Question): { yes: string; always: string | null; no: string } {
  switch (question.question) {
    case "command":
      return { yes: "Allow once", always: "Always", no: "Deny" };
    case "patch":
      return { yes: "Apply", always: null, no: "Decline" };
    case "land":
      return { yes: "Bring into my tree", always: null, no: "Not now" };
  }
}
