import { RunModel } from "../model/run.ts";
import type { EventOf, Hit, RunId, RunState, WorkspaceState } from "../wire/protocol.ts";
import type { Closed } from "../wire/transport.ts";

/** Whether there is a daemon at the other end. */
export type Connection =
  | { phase: "connecting" }
  | { phase: "open"; program: string }
  /** It answers, but does not talk to this panel. */
  | { phase: "refused"; error: string }
  | { phase: "closed"; why: Closed };

/** Something to tell the person now, beside the timeline. */
export interface NoticeText {
  tone: "plain" | "error";
  text: string;
  /** A run that it is about and that is not shown. */
  run: RunId | null;
}

/** What a search came to. */
export interface Search {
  query: string;
  /** Null while the daemon searches. */
  hits: Hit[] | null;
  /** Whether every run was looked through. */
  whole: boolean;
}

/** A configuration in the editor. */
export interface Configuration {
  workspace: string;
  /** What the file says, as far as the panel knows; null for no file. */
  file: string | null;
  draft: string;
  /** What the daemon said last of the file or the draft. */
  told: EventOf<"configuration"> | null;
  phase: "loading" | "checking" | "saving" | "settled";
  /** What the file says by now, where somebody else wrote it in between. */
  conflict: { text: string | null } | null;
  saved: boolean;
  /** What is done when the draft may be dropped; set while the person is asked. */
  leaving: (() => void) | null;
}

/** Everything the panel shows that is not in a run. */
export interface AppState {
  connection: Connection;
  workspaces: WorkspaceState[];
  /** The root of the chosen workspace. */
  workspace: string | null;
  runs: RunState[];
  /** The run that the older ones stand before; null if there are none. */
  older: RunId | null;
  search: Search | null;
  /** The run that is shown; null for a new conversation. */
  shown: RunId | null;
  notice: NoticeText | null;
  configuration: Configuration | null;
  /** What stands in the request box, for each run and for a new conversation. */
  drafts: ReadonlyMap<RunId | null, string>;
  /** Another number whenever words were put into the box from outside, such as a question about a finding. */
  drafted: number;
  announced: { polite: string; urgent: string };
}

/** A line that a comment is about. */
export interface Place {
  path: string;
  line: number;
}

/** The state before anything is known. */
export function emptyState(): AppState {
  return {
    connection: { phase: "connecting" },
    workspaces: [],
    workspace: null,
    runs: [],
    older: null,
    search: null,
    shown: null,
    notice: null,
    configuration: null,
    drafts: new Map(),
    drafted: 0,
    announced: { polite: "", urgent: "" },
  };
}

const MODELS_KEPT = 8;

/** The runs whose events are known, the latest ones. */
export class Models {
  private readonly byRun = new Map<RunId, RunModel>();
  /** What is said where no run is shown. */
  readonly home = new RunModel("");

  get(run: RunId | null): RunModel {
    if (run === null) return this.home;
    let model = this.byRun.get(run);
    if (model === undefined) {
      model = new RunModel(run);
      this.byRun.set(run, model);
    }
    return model;
  }

  /** Forgets what was not looked at for long; it can be had again. */
  tidy(shown: RunId | null): RunId[] {
    const gone: RunId[] = [];
    for (const run of this.byRun.keys()) {
      if (this.byRun.size - gone.length <= MODELS_KEPT) break;
      if (run !== shown) gone.push(run);
    }
    for (const run of gone) this.byRun.delete(run);
    return gone;
  }

  all(): IterableIterator<RunModel> {
    return this.byRun.values();
  }
}
