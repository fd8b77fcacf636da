import { countLines } from "../diff/parse.ts";
import type { EventOf, Frame, Outcome, Question, Role, RunId, Usage, Verdict, Work } from "../wire/protocol.ts";
import { isMainCheck } from "./checks.ts";
import { describeCommand } from "./commands.ts";
import { Findings } from "./findings.ts";
import { GistReader } from "./gist.ts";
import { type AnswerCost, type NewItem, Timeline } from "./item.ts";

/** An agent's reply while it arrives. */
export interface Stream {
  role: Role;
  text: string;
  began: string;
  /** Reads the text as it arrives. */
  gist: GistReader;
}

/** A question that a person has not answered. */
export interface OpenQuestion {
  gate: string;
  question: Question;
  at: string;
}

/** Something that goes on. */
export interface Part {
  work: Work;
  began: string;
}

/** What became of a frame: taken in, known already, or in front of ones that are missing. */
export type Taken = "taken" | "old" | "gap";

/** A run as its frames tell it: a fold over them, with no clock, no connection and no page. */
export class RunModel {
  /** The number of the latest durable event. */
  lastSeq = 0;
  started: { event: EventOf<"run_started">; at: string } | null = null;
  turn = 0;
  of = 0;
  readonly timeline = new Timeline();
  readonly streams = new Map<Role, Stream>();
  readonly parts = new Map<string, Part>();
  readonly questions = new Map<string, OpenQuestion>();
  readonly findings = new Findings();
  verdict: { verdict: Verdict; turn: number } | null = null;
  /** What ran for the latest candidate that was tested, and the turn that it came from. */
  checks: EventOf<"tests_output">[] = [];
  checksTurn = 0;
  review: EventOf<"review_ready"> | null = null;
  total: Usage | null = null;
  requests = 0;
  outcome: Outcome | null = null;
  complete: EventOf<"cycle_complete"> | null = null;
  failure: string | null = null;
  takenBack = false;
  /** The whole change against the base. */
  patch: string | null = null;
  latestAt = "";
  endedAt: string | null = null;
  /** When its agents were done: what lands or is taken back later is no work of theirs. */
  settledAt: string | null = null;
  /** Another number whenever something is another. */
  revision = 0;
  /** What could not be done last. */
  private trouble = "";
  private patchTurn = 0;
  private patchBefore: string | null = null;
  private readonly costs = new Map<Role, AnswerCost>();

  constructor(readonly run: RunId) {}

  /** Whether its end was told. A run that goes on again after that is not over. */
  get over(): boolean {
    return this.endedAt !== null;
  }

  /** The latest verdict, unless it is of a candidate that is not the latest any more. */
  get decided(): Verdict | null {
    const { verdict } = this;
    return verdict === null || (verdict.turn < this.checksTurn && !this.over) ? null : verdict.verdict;
  }

  /** Takes one frame of this run. Durable events count without gaps; one that was seen is dropped. */
  apply(frame: Frame): Taken {
    const event = frame.event;
    if (event.type === "stream_chunk") {
      this.chunk(event, frame.at);
      this.revision++;
      return "taken";
    }
    if (frame.seq != null) {
      const taken = this.skip(frame.seq);
      if (taken !== "taken") return taken;
    }
    this.latestAt = frame.at;
    this.revision++;
    this.take(event, frame.at);
    return "taken";
  }

  /** Uses up the number of an event, which is all there is to an event that cannot be read. */
  skip(seq: number): Taken {
    if (seq <= this.lastSeq) return "old";
    if (seq > this.lastSeq + 1) return "gap";
    this.lastSeq = seq;
    return "taken";
  }

  /** Adds a message that is no event of the run, such as what the panel itself has to say. */
  say(item: NewItem): void {
    this.revision++;
    this.timeline.add(item);
  }

  /** Forgets replies that were arriving: what was missed of them comes again as a whole. */
  pause(): void {
    this.streams.clear();
    this.revision++;
  }

  private chunk({ role, chunk, start }: EventOf<"stream_chunk">, at: string): void {
    const open = this.streams.get(role);
    if (start) this.streams.set(role, { role, text: chunk, began: open?.text === "" ? open.began : at, gist: new GistReader() });
    else if (open !== undefined) this.streams.set(role, { ...open, text: open.text + chunk });
  }

  private take(event: Frame["event"], at: string): void {
    switch (event.type) {
      case "run_started":
        this.started = { event, at };
        this.of = event.of;
        this.timeline.open(null, at);
        this.timeline.add({ kind: "user", text: event.request, about: null, at });
        for (const text of event.unconfined) this.status(`On this machine, ${text}.`, at);
        return;
      case "turn_started":
        this.reopen();
        this.settledAt = null;
        this.turn = event.turn;
        this.of = event.of;
        this.timeline.open(event.turn, at);
        return;
      case "status":
        // What failed was told as it failed; then follows what is done about it.
        return this.status(this.trouble !== "" && event.message.startsWith(`${this.trouble} `) ? event.message.slice(this.trouble.length + 1) : event.message, at);
      case "part_started":
        this.reopen();
        if (event.work.work === "call") this.settledAt = null;
        this.parts.set(event.part, { work: event.work, began: at });
        return;
      case "part_ended":
        this.parts.delete(event.part);
        return;
      case "agent_answered":
        this.streams.delete(event.role);
        this.costs.set(event.role, { model: event.model, usage: event.usage, milliseconds: event.duration_ms });
        this.total = event.total;
        this.requests = event.requests;
        return;
      case "builder_ready":
        this.streams.delete("builder");
        this.findings.answered(event.reply.answers);
        this.timeline.add({ kind: "builder", reply: event.reply, cost: this.cost("builder"), at });
        return;
      case "patch_ready":
        return this.patched(event, at);
      case "tests_output":
        return this.tested(event, at);
      case "review_ready":
        return this.reviewed(event, at);
      case "moderator_decision":
        this.streams.delete("moderator");
        this.timeline.add({
          kind: "reviewer",
          role: "moderator",
          text: `${MODERATOR[event.decision.decision]} ${event.decision.reasoning}`,
          cost: this.cost("moderator"),
          at,
        });
        return;
      case "arbiter_mode":
        this.findings.disputed(event.issue);
        return;
      case "arbiter_result":
        this.findings.settled(event.result);
        this.status(`Arbiter: ${event.result.explanation}`, at);
        return;
      case "diagnostic_run":
        return this.status(`The reviewer is unsure and asks for ${event.commands.map((one) => `\`${one}\``).join(", ")}.`, at);
      case "verdict":
        this.verdict = { verdict: event.verdict, turn: this.turn };
        this.findings.judged(event.findings);
        return;
      case "turn_judged":
        this.verdict = { verdict: event.verdict, turn: event.turn };
        this.findings.judged(event.findings);
        return;
      case "question_asked":
        this.questions.set(event.gate, { gate: event.gate, question: event.question, at });
        return;
      case "question_answered":
        return this.answered(event, at);
      case "command_taken":
        return this.commanded(event, at);
      case "part_failed":
        this.trouble = event.message;
        return this.status(event.message, at);
      case "error":
        this.failure = this.named(event.error);
        this.timeline.add({ kind: "error", text: this.failure, at });
        return this.end(at);
      case "cycle_complete":
        this.complete = event;
        this.timeline.open(null, at);
        this.timeline.add({ kind: event.success ? "success" : "warning", text: this.named(event.message), at });
        return this.end(at);
      case "outcome":
        this.outcome = event.outcome;
        if (event.outcome.outcome === "not_approved" && event.outcome.stopped_by === "not_landed") this.notLanded(event.outcome.reason, at);
        if (event.outcome.outcome === "error" && this.failure !== this.named(event.outcome.message)) {
          this.failure = this.named(event.outcome.message);
          this.timeline.add({ kind: "error", text: this.failure, at });
        }
        return this.end(at);
    }
  }

  /** Approved and not in the tree is no warning. What the terminal would type, a button does here. */
  private notLanded(reason: string, at: string): void {
    this.timeline.withdraw("warning");
    const again = this.takenBack ? " again" : "";
    this.status(`${reason.replace(/ `checkmate .*$/s, "")} Land brings it into your tree${again}.`, at);
  }

  /** In messages, `RUN` stands for the run's name. */
  private named(message: string): string {
    return message.replace(/\bRUN\b/g, this.run);
  }

  private status(text: string, at: string): void {
    this.timeline.add({ kind: "status", lines: [{ text, at }], at });
  }

  private patched(event: EventOf<"patch_ready">, at: string): void {
    // Several patches of one turn are compared with the end of the turn before.
    if (event.turn !== this.patchTurn) this.patchBefore = this.patch;
    this.patchTurn = event.turn;
    this.patch = event.patch;
    const section = this.timeline.last;
    if (section !== undefined) section.summary = { ...section.summary, ...countLines(event.patch) };
    this.timeline.add({ kind: "patch", patch: event.patch, before: this.patchBefore, turn: event.turn, at });
  }

  private tested(event: EventOf<"tests_output">, at: string): void {
    const section = this.timeline.last;
    if (section !== undefined && (event.check === "tests" || event.check === "merged")) {
      const { report } = event.receipt;
      section.summary.tests = report == null ? null : { passed: report.passed, failed: report.failed + report.errors };
      section.summary.testsRed = event.exitCode !== 0;
      this.checks = [];
      this.checksTurn = this.turn;
    }
    if (event.check !== "baseline") this.checks = [...this.checks.slice(-99), event];
    if (isMainCheck(event.check)) this.timeline.add({ kind: "tests", output: event, own: false, at });
    else this.timeline.add({ kind: "evidence", outputs: [event], at });
  }

  private reviewed(event: EventOf<"review_ready">, at: string): void {
    const { review, turn } = event;
    this.streams.delete("reviewer");
    this.review = event;
    this.findings.reviewed(review, turn);
    const section = this.timeline.last;
    if (section !== undefined) {
      section.summary.verdict = review.verdict;
      section.summary.blockers = review.issues.filter((issue) => issue.severity !== "minor").length;
      section.summary.suggestions = review.issues.length - section.summary.blockers;
    }
    if (review.stopping !== "") {
      this.timeline.add({ kind: "reviewer", role: "reviewer", text: review.stopping, cost: this.cost("reviewer"), at });
    }
    this.timeline.add({ kind: "review", review, turn, at });
  }

  private answered(event: EventOf<"question_answered">, at: string): void {
    const asked = this.questions.get(event.gate);
    this.questions.delete(event.gate);
    const what =
      asked?.question.question === "command"
        ? `\`${asked.question.line}\``
        : asked?.question.question === "patch"
          ? "Applying the patch"
          : asked?.question.question === "land"
            ? "Bringing the change into your tree"
            : "The question";
    const text = `${what}: ${event.yes ? "yes" : "no"}.${event.text === "" ? "" : ` ${event.text}`}`;
    this.timeline.add({ kind: "user", text, about: "answer", at });
  }

  private commanded({ command }: EventOf<"command_taken">, at: string): void {
    const told = describeCommand(command);
    if (command.command === "dispute") this.findings.dismissed(command.finding, command.text);
    if (command.command === "taken_back") this.takenBack = true;
    if (command.command === "land") this.takenBack = false;
    if (command.command === "budget" && command.role === null && this.started !== null) {
      const budget = { ...this.started.event.budget };
      for (const [name, limit] of Object.entries(command.limits)) if (limit !== null) Object.assign(budget, { [name]: limit });
      this.started = { ...this.started, event: { ...this.started.event, budget } };
    }
    if (told.mine) this.timeline.add({ kind: "user", text: told.text, about: told.about, at });
    else this.status(told.text, at);
  }

  private cost(role: Role): AnswerCost | null {
    const cost = this.costs.get(role) ?? null;
    this.costs.delete(role);
    return cost;
  }

  private end(at: string): void {
    this.endedAt = at;
    this.settledAt ??= at;
    this.streams.clear();
    this.parts.clear();
    this.questions.clear();
  }

  /** A run that was over goes on: it was resumed, or its change lands. */
  private reopen(): void {
    if (this.endedAt === null) return;
    this.endedAt = null;
    this.outcome = null;
    this.complete = null;
    this.failure = null;
  }
}

const MODERATOR = {
  accept_builder: "For the builder.",
  accept_reviewer: "For the reviewer.",
  reject_both: "A person has to decide.",
} as const;
