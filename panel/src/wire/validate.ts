import type * as z from "zod/mini";
import schema from "../../../docs/schema/frames.schema.json?lean";
import type { Frame } from "./protocol.ts";
import { type JsonSchema, SchemaReader } from "./schema.ts";

/** Where in a run a frame stands, also of one that cannot be read: its number is used up. */
export interface FramePlace {
  run: string;
  seq: number;
}

/** What a text frame turned out to be. */
export type Read = { frame: Frame } | { unknown: string; place: FramePlace | null } | { problem: string; place: FramePlace | null };

const { $defs, ...whole } = schema as { $defs: Record<string, JsonSchema> } & Record<string, unknown>;
const { $schema: _, ...outside } = whole as JsonSchema & { $schema?: string };
const reader = new SchemaReader({ ...$defs, Event: { type: "object" } });
/** The schema of each event's type, until it is needed for the first time. */
const events = new Map<string, JsonSchema>();
for (const group of ["Notice", "RunEvent", "Reply"]) {
  for (const one of $defs[group]?.oneOf ?? []) {
    const type = one.properties?.["type"]?.const;
    if (typeof type === "string") events.set(type, one);
  }
}
const compiled = new Map<string, z.ZodMiniType>();
const frames = reader.read(outside);

/** The types of events that the panel knows. */
export function knownTypes(): string[] {
  return [...events.keys()];
}

/** Reads one text frame of the daemon. Types that the panel does not know are no problem: the daemon may be newer. */
export function readFrame(text: string): Read {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { problem: "The daemon sent a frame that is no JSON. It was left out.", place: null };
  }
  const place = placeOf(value);
  const frame = frames.safeParse(value);
  if (!frame.success) return { problem: explain("a frame", frame.error), place };
  const { event } = value as { event: { type?: unknown } };
  const type = String(event.type);
  const checked = schemaOf(type)?.safeParse(event);
  if (checked === undefined) return { unknown: type, place };
  if (!checked.success) return { problem: explain(`an event \`${type}\``, checked.error), place };
  return { frame: { ...(frame.data as object), event: checked.data } as Frame };
}

function placeOf(value: unknown): FramePlace | null {
  if (typeof value !== "object" || value === null) return null;
  const { run, seq } = value as { run?: unknown; seq?: unknown };
  return typeof run === "string" && typeof seq === "number" ? { run, seq } : null;
}

function schemaOf(type: string): z.ZodMiniType | undefined {
  const made = compiled.get(type);
  if (made !== undefined) return made;
  const source = events.get(type);
  if (source === undefined) return undefined;
  const fresh = reader.read(source);
  compiled.set(type, fresh);
  return fresh;
}

function explain(what: string, error: z.core.$ZodError): string {
  const first = error.issues[0];
  const where = first === undefined || first.path.length === 0 ? "" : ` at \`${first.path.join(".")}\``;
  const why = first === undefined ? "" : ` (${first.code.replaceAll("_", " ")})`;
  return `The daemon sent ${what} that does not follow the protocol${where}${why}. It was left out; if this goes on, the daemon and this panel are of different versions.`;
}
