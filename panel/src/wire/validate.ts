import * as z from "zod";
import schema from "../../../docs/schema/frames.schema.json?lean";
import type { Frame } from "./protocol.ts";

// The page's policy forbids `eval`, which Zod would use to be faster.
z.config({ jitless: true });

/** What a text frame turned out to be. */
export type Read = { frame: Frame } | { unknown: string } | { problem: string };

type JsonSchema = Parameters<typeof z.fromJSONSchema>[0];

const { $defs, ...frame } = schema;
/** The schema of each event's type, before it is needed. */
const events = new Map<string, JsonSchema>();
for (const group of ["Notice", "RunEvent", "Reply"]) {
  for (const one of $defs[group]?.oneOf ?? []) {
    const type = one.properties?.type?.const;
    if (type !== undefined) events.set(type, { ...one, $defs } as JsonSchema);
  }
}
const compiled = new Map<string, z.ZodType>();
const wrapping = z.fromJSONSchema({ ...frame, $defs: { ...$defs, Event: { type: "object" } } } as JsonSchema);

/** Reads one text frame of the daemon. Types that the panel does not know are no problem: the daemon may be newer. */
export function readFrame(text: string): Read {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { problem: "The daemon sent a frame that is no JSON. It was left out." };
  }
  const outside = wrapping.safeParse(value);
  if (!outside.success) return { problem: explain("a frame", outside.error) };
  const event = (value as { event: { type?: unknown } }).event;
  const type = event.type;
  if (typeof type !== "string") return { problem: "The daemon sent an event without a type. It was left out." };
  const checked = schemaOf(type)?.safeParse(event);
  if (checked === undefined) return { unknown: type };
  if (!checked.success) return { problem: explain(`an event \`${type}\``, checked.error) };
  return { frame: { ...(outside.data as object), event: checked.data } as Frame };
}

function schemaOf(type: string): z.ZodType | undefined {
  const made = compiled.get(type);
  if (made !== undefined) return made;
  const source = events.get(type);
  if (source === undefined) return undefined;
  const schema = z.fromJSONSchema(source);
  compiled.set(type, schema);
  return schema;
}

function explain(what: string, error: z.ZodError): string {
  const first = error.issues[0];
  const where = first === undefined || first.path.length === 0 ? "" : ` at \`${first.path.join(".")}\``;
  const why = first === undefined ? "" : `: ${first.message}`;
  return `The daemon sent ${what} that does not follow the protocol${where}${why}. It was left out; if this goes on, the daemon and this panel are of different versions.`;
}
