import type { Command } from "../wire/protocol.ts";

/** What somebody told a run, in words. */
export interface Told {
  text: string;
  /** What it is about, such as a line of a file. */
  about: string | null;
  /** Whether a person said it, and not the program. */
  mine: boolean;
}

/** Says a command in words. Commands that a newer daemon knows are named as they are. */
export function describeCommand(command: Command): Told {
  const told = command as { command: string } & Record<string, unknown>;
  const text = typeof told["text"] === "string" ? told["text"] : "";
  switch (told.command) {
    case "cancel":
      return { text: told["reason"] ? `Stop. ${String(told["reason"])}` : "Stop.", about: null, mine: true };
    case "comment": {
      const path = typeof told["path"] === "string" ? told["path"] : null;
      const line = typeof told["line"] === "number" ? `:${told["line"]}` : "";
      return { text, about: path === null ? "to the builder" : `${path}${line}`, mine: true };
    }
    case "dispute":
      return { text, about: `disputes ${String(told["finding"] ?? "a finding")}`, mine: true };
    case "land":
      return { text: told["how"] === "commit" ? "Commit it." : "Bring it into my tree.", about: null, mine: true };
    case "taken_back":
      return { text: "The change was taken back.", about: null, mine: false };
    case "retry":
      return { text: "Trying again.", about: null, mine: false };
    case "time_over":
      return { text: "The minutes of the budget are over.", about: null, mine: false };
    case "budget":
      return { text: "The budget was changed.", about: null, mine: false };
    default:
      return { text: `Told: ${told.command.replaceAll("_", " ")}.`, about: null, mine: false };
  }
}
