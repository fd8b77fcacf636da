import { Findings } from "./findings.ts";
import { Listeners } from "./listeners.ts";
import { Patch } from "./patch.ts";
import type { Answer, Event, Frame, Limits, Message, Question, RunState, Verdict } from "./wire.ts";

/** A question that a run waits with. */
export interface OpenQuestion {
  run: string;
  gate: string;
  question: Question;
}

/** What is known of a run from its events. */
export class RunModel {
  lastSeq = 0;
  readonly findings = new Findings();
  readonly questions = new Map<string, OpenQuestion>();
  verdict: Verdict | null = null;
  patch: Patch | null = null;
  /** The budget that it began with. */
  budget: Limits | null = null;

  constructor(readonly run: string) {}

  /** Takes an event in; false if it was known, or if the beginning of the run is not. */
  take(event: Event | { type: "other" }, seq: number): boolean {
    if (seq <= this.lastSeq || (this.lastSeq === 0 && seq !== 1)) return false;
    this.lastSeq = seq;
    switch (event.type) {
      case "run_started":
        this.budget = event.budget;
        break;
      case "patch_ready":
        this.patch = new Patch(event.patch);
        break;
      case "review_ready":
        this.findings.reviewed(event.review.issues);
        break;
      case "arbiter_mode":
        this.findings.arbitrating(event.issue.issue_id);
        break;
      case "arbiter_result":
        this.findings.arbitratedAs(event.result.outcome);
        break;
      case "turn_judged":
      case "verdict":
        this.verdict = event.verdict;
        this.findings.judged(event.findings);
        break;
      case "question_asked":
        this.questions.set(event.gate, { run: this.run, gate: event.gate, question: event.question });
        break;
      case "question_answered":
        this.questions.delete(event.gate);
        break;
      case "outcome":
        this.questions.clear();
        break;
      default:
        // Events that change nothing of this.
        break;
    }
    return true;
  }
}

/** How long the events of an older run may take. */
const KNOWING_MS = 3000;
const GOES_ON = new Set(["queued", "running", "waiting"]);

export function goesOn(state: RunState): boolean {
  return GOES_ON.has(state.standing);
}

/** What can be done with a run beside showing it. */
export type Deed = "stop" | "resume" | "raise" | "land" | "undo" | "follow";

/** What the state of a run allows. The daemon decides; this only keeps away what cannot work. */
export function possible(state: RunState): Deed[] {
  if (goesOn(state)) return ["stop"];
  const deeds: Deed[] = [];
  const { standing, stopped_by, landed } = state;
  if (stopped_by === "budget") deeds.push("raise");
  else if (standing === "interrupted" || standing === "error") deeds.push("resume");
  if (!landed && (standing === "approved" || stopped_by === "taken_back")) deeds.push("land");
  if (landed) deeds.push("undo");
  return [...deeds, "follow"];
}

/** The runs of this window's workspaces: where each stands, and the events of those that matter now. */
export class Runs {
  readonly changed = new Listeners<RunState | null>();
  /** Tells the run whose events were another than before. */
  readonly told = new Listeners<RunModel>();
  private readonly states = new Map<string, RunState>();
  private readonly models = new Map<string, RunModel>();
  private readonly following = new Set<string>();

  constructor(
    private readonly ask: (message: Message) => Promise<Answer>,
    /** Whether a workspace belongs to this window. */
    private readonly isOurs: (root: string) => boolean,
  ) {}

  /** The states, the latest run first. */
  list(): RunState[] {
    return [...this.states.values()].sort((one, other) => (one.began < other.began ? 1 : one.began > other.began ? -1 : 0));
  }

  get(run: string): RunState | undefined {
    return this.states.get(run);
  }

  model(run: string): RunModel | undefined {
    return this.models.get(run);
  }

  /** The questions of a run that can be answered now: one that nobody drives waits with them until somebody does. */
  open(run: string): OpenQuestion[] {
    const state = this.states.get(run);
    return state === undefined || goesOn(state) ? [...(this.models.get(run)?.questions.values() ?? [])] : [];
  }

  /** Sees that the events of a run are known, such as of an older one. */
  async know(run: string): Promise<void> {
    if (this.following.has(run)) return;
    const from_seq = (this.models.get(run)?.lastSeq ?? 0) + 1;
    const event = await this.ask({ type: "subscribe", run, from_seq });
    if (event.type === "subscribed") await this.caughtUp(run, event.latest_seq);
    if (!this.following.has(run)) await this.ask({ type: "unsubscribe", run });
  }

  /** A run is followed again: what it still asks is asked again. */
  private async resumed(run: string, event: Answer): Promise<void> {
    if (event.type !== "subscribed") return;
    await this.caughtUp(run, event.latest_seq);
    const model = this.models.get(run);
    if (model !== undefined && model.questions.size > 0) this.told.tell(model);
  }

  private caughtUp(run: string, latest: number): Promise<void> {
    return new Promise((keep) => {
      const look = () => {
        if ((this.models.get(run)?.lastSeq ?? 0) < latest) return;
        done();
      };
      const listener = this.told.add(look);
      const timer = setTimeout(() => done(), KNOWING_MS);
      const done = () => {
        clearTimeout(timer);
        listener.dispose();
        keep();
      };
      look();
    });
  }

  /** A person has settled a finding. */
  disputed(run: string, finding: string): void {
    const model = this.models.get(run);
    model?.findings.disputed(finding);
    if (model !== undefined) this.told.tell(model);
  }

  /** The latest run of a workspace. */
  latest(root: string): RunState | undefined {
    return this.list().find((state) => state.workspace === root);
  }

  /** Everything is asked for anew: the connection is another one. */
  async begin(roots: string[]): Promise<void> {
    this.following.clear();
    void this.ask({ type: "watch_runs" });
    for (const workspace of roots) {
      const event = await this.ask({ type: "list_runs", workspace, limit: 50 });
      if (event.type === "runs") for (const state of event.runs) this.states.set(state.run, state);
    }
    this.follow();
    this.changed.tell(null);
  }

  /** The connection is lost: nobody can answer anything. */
  pause(): void {
    this.following.clear();
    this.changed.tell(null);
  }

  take(frame: Frame): void {
    const { event, run, seq } = frame;
    if (event.type === "run_changed") return this.stands(event.state);
    if (event.type === "accepted") this.following.add(event.run);
    if (run === undefined || seq === undefined) return;
    const model = this.models.get(run) ?? this.add(run);
    if (model.take(event, seq)) this.told.tell(model);
  }

  private stands(state: RunState): void {
    if (!this.isOurs(state.workspace)) return;
    const before = this.states.get(state.run);
    this.states.set(state.run, state);
    const model = this.models.get(state.run);
    const turned = before !== undefined && goesOn(before) !== goesOn(state);
    if (model !== undefined && turned && model.questions.size > 0) this.told.tell(model);
    if (before?.standing !== state.standing || before.landed !== state.landed) this.follow();
    this.changed.tell(state);
  }

  private add(run: string): RunModel {
    const model = new RunModel(run);
    this.models.set(run, model);
    return model;
  }

  /** Follows the runs that go on, and the latest of each workspace; the others are forgotten. */
  private follow(): void {
    const seen = new Set<string>();
    const wanted = new Set<string>();
    for (const state of this.list()) {
      if (goesOn(state) || !seen.has(state.workspace)) wanted.add(state.run);
      seen.add(state.workspace);
    }
    for (const run of wanted) {
      if (this.following.has(run)) continue;
      this.following.add(run);
      const from_seq = (this.models.get(run)?.lastSeq ?? 0) + 1;
      void this.ask({ type: "subscribe", run, from_seq }).then((event) => this.resumed(run, event));
    }
    for (const run of [...this.following]) {
      if (wanted.has(run) || !this.states.has(run)) continue;
      this.following.delete(run);
      void this.ask({ type: "unsubscribe", run });
      this.models.delete(run);
    }
  }
}
