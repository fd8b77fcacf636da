import { WebSocket } from "ws";
import type { Place } from "./place.ts";

/** The longest frame that is taken: a run's whole change, and more. */
const LONGEST = 64 << 20;

export interface SocketListener {
  opened(): void;
  received(text: string): void;
  /** There is no connection any more, or there never was one; `refused` if the daemon did not let us in. */
  closed(refused: boolean): void;
}

/** One connection to the daemon. */
export class Socket {
  private readonly socket: WebSocket;
  private over = false;

  /** `workspace` is the root that the connection belongs to. */
  constructor(place: Place, workspace: string | null, listener: SocketListener) {
    const query = workspace === null ? "" : `?workspace=${encodeURIComponent(workspace)}`;
    const protocols = ["checkmate.v1"];
    if (place.token !== null) protocols.push(`checkmate.token.${place.token}`);
    this.socket = new WebSocket(`ws://127.0.0.1:${place.port}/${query}`, protocols, {
      maxPayload: LONGEST,
      handshakeTimeout: 10_000,
      perMessageDeflate: false,
      followRedirects: false,
    });
    let refused = false;
    const end = () => {
      if (this.over) return;
      this.over = true;
      listener.closed(refused);
    };
    this.socket.on("open", () => listener.opened());
    this.socket.on("message", (data, isBinary) => {
      if (!isBinary && !this.over) listener.received(String(data));
    });
    this.socket.on("unexpected-response", (request, response) => {
      refused = response.statusCode === 401 || response.statusCode === 403;
      request.destroy();
      end();
    });
    this.socket.on("error", end);
    this.socket.on("close", (code) => {
      refused ||= code === 1008;
      end();
    });
  }

  get isOpen(): boolean {
    return this.socket.readyState === WebSocket.OPEN;
  }

  /** Sends a text frame. False if the connection does not stand. */
  send(text: string): boolean {
    if (!this.isOpen) return false;
    this.socket.send(text);
    return true;
  }

  /** Ends the connection; the listener hears no more. */
  close(): void {
    this.over = true;
    if (this.socket.readyState === WebSocket.CONNECTING) this.socket.terminate();
    else this.socket.close(1000);
  }
}
