import { type Answered, Client } from "../wire/client.ts";
import type { AnswerWord, Event, Frame, LandPolicy, Landing, Limits, Message, RunId, TaskKind } from "../wire/protocol.ts";
import type { Closed, Transport, Wish } from "../wire/transport.ts";
import { ConfigurationEditor } from "./configuration.ts";
import { recall, remember } from "./remembered.ts";
import { mergeRuns } from "./runs.ts";
import type { Place } from "./state.ts";
import { Store } from "./store.ts";

const SEARCH_PAUSE_MS = 180;
const PAGE = 50;
const LARGEST_PAGE = 200;
/** How long something is told that needs nobody. */
const PASSING_MS = 4000;
/** What changes nothing: asked again, it does no harm. */
const QUESTIONS: ReadonlySet<Message["type"]> = new Set(["search", "get_configuration", "check_configuration"]);

/** How a cycle is wanted. */
export interface CycleOptions {
  follows: RunId | null;
  land: LandPolicy | null;
  kind: TaskKind | null;
}

/** Everything that can be done: each button of the panel is a method here. */
export class Panel {
  readonly store: Store;
  readonly configuration: ConfigurationEditor;
  private readonly client: Client;
  /** Runs whose frames come on this connection. */
  private readonly following = new Set<RunId>();
  private wantsSettings = false;
  /** The list of this connection's beginning. */
  private listed: Promise<void> = Promise.resolve();
  private greeted = false;
  /** The workspace that the person chose, rather than the one of a run that is shown. */
  private chosen: string | null = null;
  /** A request that was sent and not answered, and the runs that were known then. */
  private doubt: { request: string; before: ReadonlySet<RunId> } | null = null;
  private searching: ReturnType<typeof setTimeout> | undefined;

  constructor(readonly transport: Transport) {
    this.client = new Client(transport);
    this.store = new Store(() => ({
      framed: (frame) => this.client.take(frame),
      missing: (run) => this.refollow(run),
    }));
    this.configuration = new ConfigurationEditor(this.store, (message) => this.ask(message));
    this.store.state.shown = recall("run");
    this.store.state.workspace = recall("workspace");
  }

  start(): void {
    this.transport.start({
      opened: () => void this.opened(),
      received: (text) => this.store.receive(text),
      closed: (why) => this.closed(why),
      wished: (wish) => this.wished(wish),
    });
  }

  private wished(wish: Wish): void {
    if (wish !== "settings") return this.show(wish.show);
    // Which workspace it is of is known when the daemon has said hello.
    if (this.store.state.connection.phase === "open") void this.configuration.open();
    else this.wantsSettings = true;
  }

  private async opened(): Promise<void> {
    this.following.clear();
    const greeted = this.client.greet();
    void this.client.ask({ type: "watch_runs" });
    this.listed = this.loadRuns(null);
    const { shown } = this.store.state;
    if (shown !== null) this.follow(shown);
    const answer = await greeted;
    if ("lost" in answer) return;
    const { event } = answer.frame;
    if (event.type === "error") return this.store.change({ connection: { phase: "refused", error: event.error } });
    const first = !this.greeted;
    this.greeted = true;
    // In a run it would stand between things that belong together.
    if (first && shown === null) this.store.say("status", "Connected to daemon");
    await this.listed;
    if (shown !== null) void this.locate(shown).then(() => first && this.adopt(shown));
    if (!this.settleDoubt() && !first) this.pass("Connected again.");
    if (this.wantsSettings) void this.configuration.open();
    this.wantsSettings = false;
  }

  /** Tries to connect now, or to be let in by a daemon that is there. */
  retry(): void {
    if (this.store.state.connection.phase === "refused") void this.opened();
    else this.transport.retry();
  }

  private closed(why: Closed): void {
    this.store.drop();
    this.client.lose();
    this.following.clear();
    for (const model of this.store.models.all()) model.pause();
    this.store.change({ connection: { phase: "closed", why } });
  }

  /** Sends a message and tells the person when it comes to nothing. Null if it did. */
  async ask(message: Message): Promise<Event | null> {
    return this.told(message, await this.client.ask(message));
  }

  private told(message: Message, answer: Answered): Event | null {
    if ("lost" in answer) {
      this.notice("error", lostText(message, answer.lost));
      return null;
    }
    if (answer.frame.event.type !== "error") return answer.frame.event;
    this.complain(answer.frame);
    return null;
  }

  private complain(frame: Frame): void {
    if (frame.event.type !== "error") return;
    this.notice("error", frame.event.error);
    this.store.say("error", frame.event.error);
  }

  notice(tone: "plain" | "error", text: string, run: RunId | null = null): void {
    this.store.change({ notice: { tone, text, run } });
  }

  /** Tells something that goes away by itself, unless there is something to tell that does not. */
  private pass(text: string): void {
    if (this.store.state.notice !== null) return;
    this.notice("plain", text);
    const { notice } = this.store.state;
    setTimeout(() => this.store.state.notice === notice && this.dismiss(), PASSING_MS);
  }

  dismiss(): void {
    this.store.change({ notice: null });
  }

  // Runs

  async runCycle(request: string, { follows, land, kind }: CycleOptions): Promise<boolean> {
    this.dismiss();
    if (this.doubt?.request === request) {
      await this.loadRuns(null);
      const told = this.settleDoubt();
      this.doubt = null;
      if (told) return false;
    }
    const before = new Set(this.store.known.keys());
    const workspace = (follows === null ? null : this.workspaceOf(follows)) ?? this.store.state.workspace;
    const message: Message = { type: "run_cycle", request, workspace, attended: true, follows, land, kind };
    const answer = await this.client.ask(message);
    if ("lost" in answer && answer.lost === "unanswered") this.doubt = { request, before };
    return this.accepted(this.told(message, answer));
  }

  /** Whether a request that nobody answered made a run all the same; if so, that is told. */
  private settleDoubt(): boolean {
    if (this.doubt === null) return false;
    const { request, before } = this.doubt;
    const run = [...this.store.known.values()].find((state) => state.request === request && !before.has(state.run));
    if (run === undefined) return false;
    this.doubt = null;
    this.notice("plain", "A run with this request began although the connection was lost. Run Cycle begins another one.", run.run);
    return true;
  }

  async runTests(): Promise<void> {
    this.dismiss();
    const { shown, workspace } = this.store.state;
    const model = this.store.models.get(shown);
    this.store.say("status", "Running the tests on your tree.");
    const output = await this.ask({ type: "run_tests", workspace });
    if (output?.type !== "tests_output") return;
    this.store.add(model, { kind: "tests", output, own: true, at: new Date().toISOString() });
    if (this.store.state.shown !== shown) this.pass(`The tests on your tree are ${output.exitCode === 0 ? "green" : "red"}.`);
  }

  stop(run: RunId): Promise<void> {
    return this.done({ type: "cancel", run, reason: "Stopped in the panel." });
  }

  async resume(run: RunId, budget: Limits | null): Promise<boolean> {
    return this.accepted(await this.ask({ type: "resume", run, budget }));
  }

  async land(run: RunId, how: Landing): Promise<void> {
    this.accepted(await this.ask({ type: "land", run, how }));
  }

  undo(run: RunId): Promise<void> {
    return this.done({ type: "undo", run });
  }

  async answer(run: RunId, gate: string, reply: AnswerWord, text: string): Promise<boolean> {
    return (await this.ask({ type: "answer", run, gate, reply, text })) !== null;
  }

  async comment(run: RunId, text: string, place: Place | null): Promise<boolean> {
    const event = await this.ask({ type: "comment", run, text, path: place?.path ?? null, line: place?.line ?? null });
    if (event?.type === "done") this.notice("plain", event.message);
    return event !== null;
  }

  async dispute(run: RunId, finding: string, text: string): Promise<boolean> {
    const event = await this.ask({ type: "dispute", run, finding, text });
    if (event?.type === "done") this.notice("plain", event.message);
    return event !== null;
  }

  /** What stands in the request box of a run, or of a new conversation: the one that is shown, unless it is said. */
  write(text: string, view = this.store.state.shown): void {
    this.store.change({ drafts: new Map(this.store.state.drafts).set(view, text) });
  }

  /** Puts words into the request box after what is there, to be finished and sent by the person. */
  draft(text: string): void {
    const { shown, drafts, drafted } = this.store.state;
    const before = (drafts.get(shown) ?? "").trimEnd();
    this.write(before === "" ? text : `${before}\n${text}`);
    this.store.change({ drafted: drafted + 1 });
  }

  private async done(message: Message): Promise<void> {
    const event = await this.ask(message);
    if (event?.type === "done") this.notice("plain", event.message);
  }

  private accepted(event: Event | null): boolean {
    if (event?.type !== "accepted") return false;
    this.following.add(event.run);
    this.show(event.run);
    return true;
  }

  // What is shown

  show(run: RunId | null): void {
    this.configuration.leave(() => this.reveal(run));
  }

  private reveal(run: RunId | null): void {
    const before = this.store.state.shown;
    if (before !== null && before !== run && this.following.has(before)) {
      this.following.delete(before);
      this.store.models.get(before).pause();
      void this.client.ask({ type: "unsubscribe", run: before });
    }
    this.store.change({ shown: run, notice: null });
    remember("run", run);
    if (run === null) return this.comeHome();
    for (const gone of this.store.models.tidy(run)) this.following.delete(gone);
    this.follow(run);
    this.adopt(run);
    // The list may still be on its way, and it tells whose run it is.
    void this.listed.then(() => this.locate(run)).then(() => this.store.state.shown === run && this.adopt(run));
  }

  /** What is asked for beside a run belongs to its repository. */
  private adopt(run: RunId): void {
    const root = this.workspaceOf(run);
    if (this.store.state.workspaces.some((one) => one.root === root)) this.setWorkspace(root as string);
  }

  /** A new request in an editor belongs to the folder that it has open, whatever run was looked at. */
  private comeHome(): void {
    const home = this.chosen ?? this.store.state.workspaces[0]?.root;
    if (this.transport.editor !== undefined && home !== undefined) this.setWorkspace(home);
  }

  private workspaceOf(run: RunId): string | null {
    return this.store.known.get(run)?.workspace ?? this.store.models.get(run).started?.event.workspace ?? null;
  }

  /** Asks how a run stands that the list does not reach. A run's name begins with when it was. */
  private async locate(run: RunId): Promise<void> {
    let before = this.store.state.older;
    while (before !== null && run < before) {
      const answer = await this.client.ask({ type: "list_runs", before, limit: LARGEST_PAGE });
      if ("lost" in answer || answer.frame.event.type !== "runs") return;
      const { runs, more } = answer.frame.event;
      before = more ? (runs.at(-1)?.run ?? null) : null;
    }
    this.store.change({});
  }

  private follow(run: RunId): void {
    if (this.following.has(run)) return;
    this.following.add(run);
    const from_seq = this.store.models.get(run).lastSeq + 1;
    void this.client.ask({ type: "subscribe", run, from_seq }).then((answer) => {
      if ("lost" in answer || answer.frame.event.type !== "error") return;
      this.following.delete(run);
      this.complain(answer.frame);
      // A run of another machine or another time: there is nothing to show.
      if (this.store.state.shown === run && this.store.models.get(run).lastSeq === 0) this.show(null);
    });
  }

  private refollow(run: RunId): void {
    if (!this.following.has(run)) return;
    this.following.delete(run);
    void this.client.ask({ type: "unsubscribe", run }).then(() => this.follow(run));
  }

  async loadRuns(before: RunId | null): Promise<void> {
    const answer = await this.client.ask({ type: "list_runs", before, limit: PAGE });
    if ("lost" in answer || answer.frame.event.type !== "runs") return;
    const { runs, more } = answer.frame.event;
    const isFirst = this.store.state.runs.length === 0;
    this.store.change({ runs: mergeRuns(this.store.state.runs, runs) });
    // After a new connection the list goes on to reach as far as it did.
    if (before !== null || isFirst) this.store.change({ older: more ? (runs.at(-1)?.run ?? null) : null });
  }

  search(query: string): void {
    clearTimeout(this.searching);
    if (query.trim() === "") return this.store.change({ search: null });
    const { hits = null, whole = true } = this.store.state.search ?? {};
    this.store.change({ search: { query, hits, whole } });
    this.searching = setTimeout(() => void this.find(query), SEARCH_PAUSE_MS);
  }

  private async find(query: string): Promise<void> {
    const event = await this.ask({ type: "search", query });
    if (event?.type === "found" && this.store.state.search?.query === query) {
      this.store.change({ search: { query, hits: event.hits, whole: event.whole } });
    }
  }

  // Workspaces

  choose(root: string): void {
    this.configuration.leave(() => {
      this.chosen = root;
      this.setWorkspace(root);
    });
  }

  private setWorkspace(root: string): void {
    remember("workspace", root);
    this.store.change({ workspace: root });
  }

  async openWorkspace(path: string): Promise<string | null> {
    const before = new Set(this.store.state.workspaces.map((one) => one.root));
    const answer = await this.client.ask({ type: "open_workspace", path });
    if ("lost" in answer) return "There is no connection to the daemon.";
    const { event } = answer.frame;
    if (event.type === "error") return event.error;
    if (event.type !== "workspaces") return null;
    const fresh = event.workspaces.find((one) => !before.has(one.root)) ?? event.workspaces.find((one) => one.root === path);
    if (fresh !== undefined) this.choose(fresh.root);
    return null;
  }
}

function lostText(message: Message, lost: "unsent" | "unanswered"): string {
  if (QUESTIONS.has(message.type)) return "There is no connection to the daemon. Try again when it is back.";
  if (lost === "unsent") return "There is no connection to the daemon, so this was not done. Try again when it is back.";
  return "The connection was lost before the daemon answered, so this may have been done. Look among the runs before you try again.";
}
