import { health } from "./daemon.ts";
import { Listeners } from "./listeners.ts";
import type { Place } from "./place.ts";
import { Socket } from "./socket.ts";
import { inNotification } from "./text.ts";
import { type Answer, type Frame, frameOf, type Message, VERSION, type WorkspaceState } from "./wire.ts";

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 15_000;
const HELLO_MS = 10_000;

/** Why there is no connection, and what happens next. */
export interface Closed {
  address: string;
  /** Whether something answers there that does not let us in. */
  refused: boolean;
  /** A sentence for people. */
  reason: string;
  /** When it is tried again, in milliseconds since 1970; null while nobody tries. */
  retryAt: number | null;
}

export type ConnectionState =
  | { phase: "connecting" }
  | { phase: "open"; program: string; address: string }
  | { phase: "closed"; why: Closed };

export interface ConnectionOptions {
  /** Where the daemon is, looked up anew at each attempt. */
  find(): Place;
  /** The folders that are opened as workspaces. */
  folders(): string[];
  /** Whether anything may be connected to at all. */
  permitted(): boolean;
  /** How long the daemon may take to greet, in milliseconds. */
  patience?: number;
}

/** The extension's own connection to the daemon. It comes back by itself. */
export class Connection {
  state: ConnectionState = { phase: "connecting" };
  place: Place | null = null;
  workspaces: WorkspaceState[] = [];
  readonly changed = new Listeners<ConnectionState>();
  readonly frames = new Listeners<Frame>();
  private socket: Socket | null = null;
  private next = 1;
  private readonly waiting = new Map<number, (event: Answer) => void>();
  private pause = FIRST_PAUSE_MS;
  private timer: NodeJS.Timeout | undefined;
  private attempt: Promise<boolean> | null = null;
  private over = false;

  constructor(private readonly options: ConnectionOptions) {}

  get isOpen(): boolean {
    return this.state.phase === "open";
  }

  /** Tries to connect now, without the pause. True if the connection stands. */
  connect(): Promise<boolean> {
    if (this.isOpen) return Promise.resolve(true);
    if (this.over) return Promise.resolve(false);
    clearTimeout(this.timer);
    this.attempt ??= this.tryOnce().finally(() => void (this.attempt = null));
    return this.attempt;
  }

  /** The settings are others: connects to where they point now. */
  async moved(): Promise<boolean> {
    await this.attempt;
    if (this.isOpen && this.options.find().port !== this.place?.port) {
      this.lose();
      this.become({ phase: "connecting" });
    }
    return this.connect();
  }

  /** Asks the daemon. */
  ask(message: Message): Promise<Answer> {
    const id = this.next++;
    return new Promise((keep) => {
      this.waiting.set(id, keep);
      if (this.socket?.send(JSON.stringify({ ...message, id })) !== true) {
        this.waiting.delete(id);
        keep({ type: "lost", sent: false });
      }
    });
  }

  /** Opens the folders that are not open yet. */
  async openFolders(): Promise<void> {
    for (const path of this.options.folders()) {
      const event = await this.ask({ type: "open_workspace", path });
      if (event.type === "workspaces") this.workspaces = event.workspaces;
    }
  }

  dispose(): void {
    this.over = true;
    clearTimeout(this.timer);
    this.lose();
  }

  private async tryOnce(): Promise<boolean> {
    const place = this.options.find();
    this.place = place;
    if (!this.options.permitted()) {
      return this.fail(place, false, "This folder is not trusted, so Checkmate connects to no daemon.", false);
    }
    const who = await health(place.port);
    if (who === "nobody") {
      return this.fail(place, false, `No daemon answers at ${place.address}. Start it with \`checkmate serve\`.`);
    }
    if (who === "somebody else") {
      const reason = `Another program answers at ${place.address}. Set another port in \`checkmate.port\`.`;
      return this.fail(place, true, reason);
    }
    if (!place.known || place.token === null) {
      const reason =
        `The daemon at ${place.address} is not known to be yours: it left no note in your state folder. If it is, set ` +
        "its port in `checkmate.port`.";
      return this.fail(place, true, reason);
    }
    return this.open(place);
  }

  private open(place: Place): Promise<boolean> {
    return new Promise((keep) => {
      const socket = new Socket(place, null, {
        opened: () => void this.greet(place, socket).then(keep),
        received: (text) => this.take(text),
        closed: (refused) => {
          if (this.socket === socket) this.lose();
          const reason = refused
            ? `The daemon at ${place.address} refused the token. Was it started by another user or with another state folder?`
            : `The connection to ${place.address} was lost. Start the daemon with \`checkmate serve\`.`;
          keep(this.fail(place, refused, reason));
        },
      });
      this.socket = socket;
    });
  }

  private async greet(place: Place, socket: Socket): Promise<boolean> {
    let late: NodeJS.Timeout | undefined;
    const silence = new Promise<null>((keep) => (late = setTimeout(() => keep(null), this.options.patience ?? HELLO_MS)));
    const hello = await Promise.race([this.ask({ type: "hello", version: VERSION }), silence]);
    clearTimeout(late);
    if (this.socket !== socket) return false;
    if (hello?.type !== "hello") {
      this.lose();
      const said =
        hello === null ? "does not greet back" : hello.type === "error" ? `refuses this extension: ${inNotification(hello.error, 300)}` : "greets in another way";
      const reason = `The daemon at ${place.address} ${said.replace(/\.$/, "")}. Try again, or bring \`checkmate\` and the extension to the same version.`;
      return this.fail(place, true, reason);
    }
    this.workspaces = hello.workspaces;
    await this.openFolders();
    if (this.socket !== socket) return false;
    this.pause = FIRST_PAUSE_MS;
    this.become({ phase: "open", program: hello.program, address: place.address });
    return true;
  }

  private take(text: string): void {
    const frame = frameOf(text);
    if (frame === null) return;
    // First those who keep order: an answer may say that what came before is complete.
    this.frames.tell(frame);
    if (frame.re === undefined) return;
    const keep = this.waiting.get(frame.re);
    this.waiting.delete(frame.re);
    keep?.(frame.event.type === "other" ? { type: "done", message: "" } : frame.event);
  }

  private lose(): void {
    const socket = this.socket;
    this.socket = null;
    socket?.close();
    const waiting = [...this.waiting.values()];
    this.waiting.clear();
    for (const keep of waiting) keep({ type: "lost", sent: true });
  }

  private fail(place: Place, refused: boolean, reason: string, again = true): false {
    if (this.over) return false;
    // Spread, so that many windows do not come back at the same moment.
    const wait = this.pause * (0.75 + Math.random() / 2);
    this.pause = Math.min(this.pause * 2, LONGEST_PAUSE_MS);
    clearTimeout(this.timer);
    if (again) this.timer = setTimeout(() => void this.connect(), wait);
    const retryAt = again ? Date.now() + wait : null;
    this.become({ phase: "closed", why: { address: place.address, refused, reason, retryAt } });
    return false;
  }

  private become(state: ConnectionState): void {
    this.state = state;
    this.changed.tell(state);
  }
}
