import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import schema from "../../../docs/schema/frames.schema.json";
import { SchemaReader, type JsonSchema } from "../../src/wire/schema.ts";
import { knownTypes, readFrame } from "../../src/wire/validate.ts";

const lines = ["factorial", "arbiter", "oscillation"].flatMap((name) =>
  readFileSync(new URL(`../frames/${name}.jsonl`, import.meta.url), "utf8").trim().split("\n"),
);

/** The frame with something in it broken: each value once replaced by one of another type, each key once left out. */
function* broken(value: unknown): Generator<unknown> {
  if (Array.isArray(value)) {
    for (const [index, one] of value.slice(0, 2).entries()) for (const other of broken(one)) yield value.with(index, other);
  } else if (typeof value === "object" && value !== null) {
    for (const [key, one] of Object.entries(value)) {
      const { [key]: _, ...rest } = value as Record<string, unknown>;
      yield rest;
      for (const other of broken(one)) yield { ...rest, [key]: other };
    }
  }
  yield typeof value === "string" ? 7 : "text";
  yield -1;
  yield null;
}

describe("a frame", () => {
  test("of a recorded run is valid", () => {
    for (const line of lines) expect(readFrame(line)).toHaveProperty("frame");
  });

  test("is valid or not as `z.fromJSONSchema` says, also with something broken in it", () => {
    const { $schema: _, ...whole } = schema;
    const theirs = z.fromJSONSchema(whole as Parameters<typeof z.fromJSONSchema>[0]);
    const seen = new Set<string>();
    let valid = 0;
    let invalid = 0;
    for (const line of lines) {
      const frame = JSON.parse(line);
      if (seen.has(frame.event.type)) continue;
      seen.add(frame.event.type);
      for (const one of broken(frame)) {
        const ours = readFrame(JSON.stringify(one));
        if ("unknown" in ours) continue;
        const good = theirs.safeParse(one).success;
        expect("frame" in ours, JSON.stringify(one)).toBe(good);
        if (good) valid++;
        else invalid++;
      }
    }
    expect(valid).toBeGreaterThan(100);
    expect(invalid).toBeGreaterThan(500);
  }, 60_000);

  test("of a type that nobody knows yet is left out quietly, and its number is used up", () => {
    const text = JSON.stringify({ event: { type: "hologram", x: 1 }, run: "r", seq: 4, at: "now" });
    expect(readFrame(text)).toEqual({ unknown: "hologram", place: { run: "r", seq: 4 } });
  });

  test("that is wrong is told and breaks nothing", () => {
    for (const text of ["", "{", "[]", "7", "null", '{"event":null,"at":""}', '{"event":{},"at":""}', '{"event":{"type":"status"},"at":""}']) {
      const read = readFrame(text);
      expect("frame" in read, text).toBe(false);
    }
    expect(readFrame('{"event":{"type":"status","message":3},"run":"r","seq":2,"at":""}')).toMatchObject({ place: { run: "r", seq: 2 } });
  });

  test("of every type has a schema that can be read", () => {
    expect(knownTypes().length).toBeGreaterThan(30);
    const reader = new SchemaReader(schema.$defs as unknown as Record<string, JsonSchema>);
    for (const definition of Object.values(schema.$defs)) expect(() => reader.read(definition as unknown as JsonSchema)).not.toThrow();
    expect(() => reader.read({ pattern: "x" } as JsonSchema)).toThrow("pattern");
  });
});
