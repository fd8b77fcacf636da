import type { Event, Message } from "../wire/protocol.ts";
import type { Configuration } from "./state.ts";
import type { Store } from "./store.ts";

const CHECK_PAUSE_MS = 350;
/** What a file begins with that does not exist. */
const EMPTY = "{\n}\n";

/** The settings: the text of a workspace's configuration, checked while it is typed. */
export class ConfigurationEditor {
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly store: Store,
    private readonly ask: (message: Message) => Promise<Event | null>,
  ) {}

  /** Opens the configuration of the chosen workspace. */
  async open(): Promise<void> {
    const workspace = this.store.state.workspace;
    if (workspace === null || (this.now?.workspace === workspace && this.now.phase !== "loading")) return;
    this.put({ workspace, file: null, draft: "", told: null, phase: "loading", conflict: null, saved: false, leaving: null });
    const event = await this.ask({ type: "get_configuration", workspace });
    if (event?.type !== "configuration" || this.now?.workspace !== workspace) return;
    this.put({ ...this.now, file: event.text, draft: event.text ?? EMPTY, told: event, phase: "settled" });
  }

  /** Closes the settings and goes on with something else, after asking where a draft would be lost. */
  leave(then: () => void): void {
    const now = this.now;
    if (now !== null && now.phase !== "loading" && now.draft !== (now.file ?? EMPTY)) return this.put({ ...now, leaving: then });
    this.drop();
    then();
  }

  /** The person has said whether the draft may be dropped. */
  left(drops: boolean): void {
    const now = this.now;
    if (now === null) return;
    if (!drops) return this.put({ ...now, leaving: null });
    this.drop();
    now.leaving?.();
  }

  private drop(): void {
    clearTimeout(this.timer);
    this.store.change({ configuration: null });
  }

  edit(draft: string): void {
    const now = this.now;
    if (now === null) return;
    this.put({ ...now, draft, phase: "checking", saved: false });
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.check(draft), CHECK_PAUSE_MS);
  }

  private async check(draft: string): Promise<void> {
    const workspace = this.now?.workspace;
    const event = await this.ask({ type: "check_configuration", workspace: workspace ?? null, text: draft });
    const now = this.now;
    if (now === null || now.draft !== draft || now.phase !== "checking") return;
    this.put({ ...now, phase: "settled", told: event?.type === "configuration" ? event : now.told });
  }

  /** Writes the draft, unless the file says by now something else than when it was read. */
  async save(): Promise<void> {
    const now = this.now;
    if (now === null) return;
    clearTimeout(this.timer);
    this.put({ ...now, phase: "saving", conflict: null });
    const { workspace, draft, file } = now;
    const event = await this.ask({ type: "save_configuration", workspace, text: draft, replaces: file });
    const after = this.now;
    if (after === null || after.workspace !== workspace) return;
    if (event?.type === "configuration" && event.saved) {
      const isWhole = after.draft === draft;
      this.put({ ...after, phase: "settled", file: draft, told: event, saved: isWhole });
      // What was typed while it was written has not been checked.
      if (!isWhole) this.edit(after.draft);
      return;
    }
    const current = await this.ask({ type: "get_configuration", workspace });
    const conflict = current?.type === "configuration" && current.text !== file ? { text: current.text } : null;
    const told = event?.type === "configuration" ? event : after.told;
    const latest = this.now;
    if (latest === null || latest.workspace !== workspace) return;
    this.put({ ...latest, phase: "settled", conflict, told });
    if (latest.draft !== draft) this.edit(latest.draft);
  }

  /** After a conflict: takes what the file says by now, or keeps the draft and writes over it with the next save. */
  settle(keep: "draft" | "file"): void {
    const now = this.now;
    if (now?.conflict == null) return;
    const file = now.conflict.text;
    this.put({ ...now, file, conflict: null });
    this.edit(keep === "draft" ? now.draft : (file ?? EMPTY));
  }

  private get now(): Configuration | null {
    return this.store.state.configuration;
  }

  private put(configuration: Configuration): void {
    this.store.change({ configuration });
  }
}
