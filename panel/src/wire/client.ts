import { type Frame, type Message, VERSION } from "./protocol.ts";
import type { Transport } from "./transport.ts";

/** What became of a message. One that was sent and not answered may have been taken all the same. */
export type Answered = { frame: Frame } | { lost: "unsent" | "unanswered" };

/** Numbers messages and brings each answer to who asked. */
export class Client {
  private next = 1;
  private readonly waiting = new Map<number, (answer: Answered) => void>();

  constructor(private readonly transport: Transport) {}

  /** Sends a message; the promise is kept by the frame that answers it, or when the connection is lost. */
  ask(message: Message): Promise<Answered> {
    const id = this.next++;
    return new Promise((keep) => {
      this.waiting.set(id, keep);
      if (!this.transport.send(JSON.stringify({ ...message, id }))) {
        this.waiting.delete(id);
        keep({ lost: "unsent" });
      }
    });
  }

  /** The first message on a connection. */
  greet(): Promise<Answered> {
    return this.ask({ type: "hello", version: VERSION });
  }

  /** Takes a frame to whom it answers. */
  take(frame: Frame): void {
    if (frame.re == null) return;
    const keep = this.waiting.get(frame.re);
    this.waiting.delete(frame.re);
    keep?.({ frame });
  }

  /** Nothing that was asked will be answered any more. */
  lose(): void {
    const waiting = [...this.waiting.values()];
    this.waiting.clear();
    for (const keep of waiting) keep({ lost: "unanswered" });
  }
}
