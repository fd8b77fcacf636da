import type { Envelope1, Event, Frame } from "./generated.ts";

export type * from "./generated.ts";

/** The version of the protocol that the panel speaks. */
export const VERSION = 1;

/** What the panel may send. */
export type Message = Envelope1;
/** The event with one type. */
export type EventOf<T extends Event["type"]> = Extract<Event, { type: T }>;
/** A frame with an event of one type. */
export type FrameOf<T extends Event["type"]> = Omit<Frame, "event"> & { event: EventOf<T> };

/** Whether a frame carries an event of that type. */
export function carries<T extends Event["type"]>(frame: Frame, type: T): frame is FrameOf<T> & Frame {
  return frame.event.type === type;
}
