import type { Command } from "../wire/protocol.ts";

/** What somebody told a run, in words. */
export interface Told {
  text: string;
  /** What it is about, such as a line of a file. */
  about: string | null;
  /** Whether a person said it, and not the program. */
  mine: boolean;
}

/** Says a command in words. */
export function describeCommand(command: Command): Told {
  switch (command.command) {
    case "cancel":
      return { text: command.reason === "" ? "Stop." : `Stop. ${command.reason}`, about: null, mine: true };
    case "comment": {
      const line = command.line == null ? "" : `:${command.line}`;
      return { text: command.text, about: command.path == null ? "to the builder" : `\`${command.path}${line}\``, mine: true };
    }
    case "dispute":
      return { text: command.text, about: `disputes \`${command.finding}\``, mine: true };
    case "land":
      return { text: command.how === "commit" ? "Commit it." : "Bring it into my tree.", about: null, mine: true };
    case "taken_back":
      return { text: "The change was taken back.", about: null, mine: false };
    case "retry":
      return { text: "Trying again.", about: null, mine: false };
    case "time_over":
      return { text: "The minutes of the budget are over.", about: null, mine: false };
    case "budget":
      return { text: "The budget was changed.", about: null, mine: false };
  }
}
