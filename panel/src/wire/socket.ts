import type { Transport, TransportListener } from "./transport.ts";

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 15_000;

/** The page's own WebSocket. */
export class SocketTransport implements Transport {
  readonly editor = undefined;
  private socket: WebSocket | undefined;
  private listener: TransportListener | undefined;
  private pause = FIRST_PAUSE_MS;
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly address: string,
    private readonly token: string | null,
  ) {}

  start(listener: TransportListener): void {
    this.listener = listener;
    this.connect();
    addEventListener("online", () => this.retry());
  }

  send(text: string): boolean {
    if (this.socket?.readyState !== WebSocket.OPEN) return false;
    this.socket.send(text);
    return true;
  }

  retry(): void {
    if (this.socket !== undefined) return;
    this.pause = FIRST_PAUSE_MS;
    this.connect();
  }

  private connect(): void {
    clearTimeout(this.timer);
    const protocols = ["checkmate.v1"];
    if (this.token !== null && /^[\w.~-]+$/.test(this.token)) protocols.push(`checkmate.token.${this.token}`);
    const socket = new WebSocket(this.address, protocols);
    this.socket = socket;
    let opened = false;
    socket.addEventListener("open", () => {
      opened = true;
      this.pause = FIRST_PAUSE_MS;
      this.listener?.opened();
    });
    socket.addEventListener("message", ({ data }) => {
      if (typeof data === "string") this.listener?.received(data);
    });
    socket.addEventListener("close", () => {
      if (this.socket !== socket) return;
      this.socket = undefined;
      // Spread, so that many tabs do not come back at the same moment.
      const wait = this.pause * (0.75 + Math.random() / 2);
      this.pause = Math.min(this.pause * 2, LONGEST_PAUSE_MS);
      this.timer = setTimeout(() => this.connect(), wait);
      const closed = { address: this.address, refused: false, retryAt: Date.now() + wait };
      this.listener?.closed(closed);
      if (!opened) void isThere().then((there) => there && this.socket === undefined && this.listener?.closed({ ...closed, refused: true }));
    });
  }
}

/** A browser does not tell a page why: a token that is not taken looks like a daemon that is gone. This asks without one. */
async function isThere(): Promise<boolean> {
  try {
    const answer = await fetch(new URL("/healthz", location.href), { cache: "no-store" });
    return answer.ok && ((await answer.json()) as { program?: unknown }).program === "checkmate";
  } catch {
    return false;
  }
}

/** Where the daemon listens: where the page came from, unless the page is developed elsewhere. */
export function daemonAddress(place: Location): string {
  const secure = place.protocol === "https:";
  if (!place.protocol.startsWith("http")) return "ws://localhost:9876/";
  return `${secure ? "wss" : "ws"}://${place.host}/${place.search}`;
}
