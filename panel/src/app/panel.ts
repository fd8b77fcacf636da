import { Client } from "../wire/client.ts";
import type { AnswerWord, Event, Frame, LandPolicy, Landing, Limits, Message, RunId, TaskKind } from "../wire/protocol.ts";
import type { Closed, Transport, Wish } from "../wire/transport.ts";
import { ConfigurationEditor } from "./configuration.ts";
import { recall, remember } from "./remembered.ts";
import { mergeRuns } from "./runs.ts";
import type { Place } from "./state.ts";
import { Store } from "./store.ts";

const SEARCH_PAUSE_MS = 180;
const PAGE = 50;

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
    void this.loadRuns(null);
    if (this.store.state.shown !== null) this.follow(this.store.state.shown);
    const answer = await greeted;
    if ("lost" in answer) return;
    if (answer.frame.event.type !== "hello") return this.complain(answer.frame);
    this.store.say("status", "Connected to daemon");
    if (this.wantsSettings) void this.configuration.open();
    this.wantsSettings = false;
  }

  private closed(why: Closed): void {
    this.client.lose();
    this.following.clear();
    for (const model of this.store.models.all()) model.pause();
    this.store.change({ connection: { phase: "closed", why } });
  }

  /** Sends a message and tells the person when it comes to nothing. Null if it did. */
  async ask(message: Message): Promise<Event | null> {
    const answer = await this.client.ask(message);
    if ("lost" in answer) {
      this.notice("error", "There is no connection to the daemon, so this was not done. Try again when it is back.");
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

  notice(tone: "plain" | "error", text: string): void {
    this.store.change({ notice: { tone, text } });
  }

  dismiss(): void {
    this.store.change({ notice: null });
  }

  // Runs

  async runCycle(request: string, { follows, land, kind }: CycleOptions): Promise<boolean> {
    this.dismiss();
    const workspace = this.store.state.workspace;
    const event = await this.ask({ type: "run_cycle", request, workspace, attended: true, follows, land, kind });
    return this.accepted(event);
  }

  async runTests(): Promise<void> {
    this.dismiss();
    this.store.say("status", "Running the tests on your tree.");
    await this.ask({ type: "run_tests", workspace: this.store.state.workspace });
  }

  stop(run: RunId): Promise<void> {
    return this.told({ type: "cancel", run, reason: "Stopped in the panel." });
  }

  async resume(run: RunId, budget: Limits | null): Promise<boolean> {
    return this.accepted(await this.ask({ type: "resume", run, budget }));
  }

  async land(run: RunId, how: Landing): Promise<void> {
    this.accepted(await this.ask({ type: "land", run, how }));
  }

  undo(run: RunId): Promise<void> {
    return this.told({ type: "undo", run });
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

  /** Puts words into the request box, to be finished and sent by the person. */
  draft(text: string, about: Place | null): void {
    this.store.change({ draft: { text, about, stamp: this.store.state.draft.stamp + 1 } });
  }

  private async told(message: Message): Promise<void> {
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
    const before = this.store.state.shown;
    if (before !== null && before !== run && this.following.has(before)) {
      this.following.delete(before);
      this.store.models.get(before).pause();
      void this.client.ask({ type: "unsubscribe", run: before });
    }
    this.store.change({ shown: run, configuration: null, notice: null });
    remember("run", run);
    if (run === null) return;
    for (const gone of this.store.models.tidy(run)) this.following.delete(gone);
    this.follow(run);
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
    this.store.change({ runs: mergeRuns(this.store.state.runs, answer.frame.event.runs), moreRuns: answer.frame.event.more });
  }

  search(query: string): void {
    clearTimeout(this.searching);
    if (query.trim() === "") return this.store.change({ search: null });
    const hits = this.store.state.search?.hits ?? null;
    this.store.change({ search: { query, hits } });
    this.searching = setTimeout(() => void this.find(query), SEARCH_PAUSE_MS);
  }

  private async find(query: string): Promise<void> {
    const event = await this.ask({ type: "search", query });
    if (event?.type === "found" && this.store.state.search?.query === query) {
      this.store.change({ search: { query, hits: event.hits } });
    }
  }

  // Workspaces

  choose(root: string): void {
    remember("workspace", root);
    this.store.change({ workspace: root, configuration: null });
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
