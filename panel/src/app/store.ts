import type { NewItem } from "../model/item.ts";
import type { RunModel, Taken } from "../model/run.ts";
import type { Frame, RunId, RunState } from "../wire/protocol.ts";
import { readFrame } from "../wire/validate.ts";
import { announce } from "./announce.ts";
import { mergeRuns } from "./runs.ts";
import { type AppState, emptyState, Models } from "./state.ts";

/** The most time that frames may take before the page is drawn again. */
const SLICE_MS = 8;
/** How long frames may be taken without drawing, where many wait: a replay needs not be watched step by step. */
const UNDRAWN_MS = 150;
/** How soon frames are taken where nothing is drawn, because the page is hidden. */
const HIDDEN_MS = 100;

/** What the store tells whoever owns the connection. */
export interface StoreListener {
  /** A valid frame, before it is taken in. */
  framed(frame: Frame): void;
  /** Frames of a run are missing before this one. */
  missing(run: RunId): void;
}

/** Holds the state. Frames wait in a queue and are taken in slices, once for each time that the page is drawn. */
export class Store {
  state: AppState = emptyState();
  readonly models = new Models();
  /** How runs stand, also those that the list does not reach. */
  readonly known = new Map<RunId, RunState>();
  private readonly watchers = new Set<() => void>();
  private queue: string[] = [];
  private head = 0;
  private scheduled = false;
  private drawn = 0;
  private readonly problems = new Set<string>();
  private readonly latest = new Map<RunId, number>();

  constructor(private readonly listener: () => StoreListener) {}

  /** Calls back after each change, at most once for each time that the page is drawn. */
  watch(watcher: () => void): () => void {
    this.watchers.add(watcher);
    return () => this.watchers.delete(watcher);
  }

  change(change: Partial<AppState>): void {
    this.state = { ...this.state, ...change };
    this.schedule();
  }

  /** Says something in the conversation that is shown. */
  say(kind: "status" | "error" | "warning", text: string): void {
    const at = new Date().toISOString();
    this.add(this.models.get(this.state.shown), kind === "status" ? { kind, lines: [{ text, at }], at } : { kind, text, at });
  }

  /** Adds a message to a conversation. */
  add(model: RunModel, item: NewItem): void {
    model.say(item);
    this.schedule();
  }

  /** Forgets frames of a connection that is lost: what is durable in them comes again with the next one. */
  drop(): void {
    this.queue = [];
    this.head = 0;
  }

  receive(text: string): void {
    this.queue.push(text);
    this.schedule();
  }

  private schedule(): void {
    if (this.scheduled) return;
    this.scheduled = true;
    const run = () => this.flush();
    if (document.visibilityState === "hidden") setTimeout(run, HIDDEN_MS);
    else requestAnimationFrame(run);
  }

  private flush(): void {
    this.scheduled = false;
    const until = performance.now() + SLICE_MS;
    while (this.head < this.queue.length && performance.now() < until) this.take(this.queue[this.head++] as string);
    if (this.head >= this.queue.length) {
      this.queue = [];
      this.head = 0;
    } else {
      this.schedule();
      if (performance.now() - this.drawn < UNDRAWN_MS) return;
    }
    this.drawn = performance.now();
    this.state = { ...this.state, announced: announce(this.state, this.models.get(this.state.shown), this.isBehind()) };
    for (const watcher of this.watchers) watcher();
  }

  /** Whether the shown run is being told from before, rather than as it happens. */
  private isBehind(): boolean {
    const { shown } = this.state;
    if (shown === null) return false;
    return this.head < this.queue.length || this.models.get(shown).lastSeq < (this.latest.get(shown) ?? 0);
  }

  private take(text: string): void {
    const read = readFrame(text);
    if (!("frame" in read)) {
      // Its number is used up all the same, or it would be asked for again and again.
      if (read.place !== null && this.models.get(read.place.run).skip(read.place.seq) === "gap") this.listener().missing(read.place.run);
      if ("problem" in read) this.problem(read.problem);
      return;
    }
    const { frame } = read;
    this.listener().framed(frame);
    this.fold(frame);
  }

  /** A daemon of another version says the same wrong thing many times; once is enough. */
  private problem(text: string): void {
    if (this.problems.has(text)) return;
    this.problems.add(text);
    this.say("error", text);
  }

  private fold(frame: Frame): void {
    const event = frame.event;
    switch (event.type) {
      case "hello":
        this.state.connection = { phase: "open", program: event.program };
        return this.workspaces(event.workspaces);
      case "workspaces":
        return this.workspaces(event.workspaces);
      case "runs":
        for (const state of event.runs) this.known.set(state.run, state);
        return;
      case "found":
        // A search tells what a journal says, which is not whether somebody drives it just now.
        for (const { state } of event.hits) if (!this.known.has(state.run)) this.known.set(state.run, state);
        return;
      case "run_changed":
        this.known.set(event.state.run, event.state);
        this.state = { ...this.state, runs: mergeRuns(this.state.runs, [event.state]) };
        return;
      case "subscribed":
        this.latest.set(event.run, event.latest_seq);
        return;
      case "accepted":
      case "done":
      case "file":
      case "configuration":
        return;
      default:
        return this.tell(frame);
    }
  }

  /** An event of a run goes to its model, one of no run into the conversation that is shown. */
  private tell(frame: Frame): void {
    if (frame.run != null && (frame.seq != null || frame.event.type === "stream_chunk")) {
      const taken: Taken = this.models.get(frame.run).apply(frame);
      if (taken === "gap") this.listener().missing(frame.run);
      return;
    }
    // What answers a message is told by who sent it.
    if (frame.re != null) return;
    if (frame.event.type === "error") this.say("error", frame.event.error);
    else if (frame.event.type === "status" && this.state.connection.phase === "open") this.say("status", frame.event.message);
  }

  private workspaces(workspaces: AppState["workspaces"]): void {
    const known = workspaces.some((one) => one.root === this.state.workspace);
    const first = workspaces.find((one) => one.problem === null) ?? workspaces[0];
    this.state = { ...this.state, workspaces, workspace: known ? this.state.workspace : (first?.root ?? null) };
  }
}
