import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import Ajv from "ajv/dist/2020.js";
import { FIELDS, frameOf, type Message } from "../src/wire.ts";

const schema = (name: string) => JSON.parse(readFileSync(`../../docs/schema/${name}.schema.json`, "utf8"));

test("every message of the extension is one of the protocol", () => {
  const valid = new Ajv({ strict: false, validateFormats: false }).compile(schema("messages"));
  const messages: { [T in Message["type"]]: Extract<Message, { type: T }> } = {
    hello: { type: "hello", version: 1 },
    watch_runs: { type: "watch_runs" },
    open_workspace: { type: "open_workspace", path: "/x" },
    list_runs: { type: "list_runs", workspace: "/x", limit: 50 },
    search: { type: "search", query: "words" },
    subscribe: { type: "subscribe", run: "r", from_seq: 1 },
    unsubscribe: { type: "unsubscribe", run: "r" },
    run_cycle: { type: "run_cycle", request: "words", workspace: "/x", attended: true, follows: "r" },
    run_tests: { type: "run_tests", workspace: "/x" },
    cancel: { type: "cancel", run: "r", reason: "words" },
    resume: { type: "resume", run: "r", budget: { calls: 1, tokens: 1, cost_micro_usd: 1, minutes: 1 } },
    land: { type: "land", run: "r", how: "apply" },
    undo: { type: "undo", run: "r" },
    answer: { type: "answer", run: "r", gate: "g", reply: "always" },
    comment: { type: "comment", run: "r", text: "words", path: "a.ts", line: 1 },
    dispute: { type: "dispute", run: "r", finding: "f", text: "words" },
    read_file: { type: "read_file", run: "r", path: "a.ts", side: "base" },
    get_configuration: { type: "get_configuration", workspace: "/x" },
  };
  for (const message of Object.values(messages)) assert.ok(valid({ ...message, id: 1 }), JSON.stringify([message, valid.errors]));
  assert.ok(!valid({ type: "answer", run: "r" }));
});

test("every field that the extension reads is one of the protocol", () => {
  const events = new Map<string, Record<string, unknown>>();
  const collect = (value: unknown): void => {
    if (typeof value !== "object" || value === null) return;
    const { properties } = value as { properties?: Record<string, { const?: string }> };
    const type = properties?.type?.const;
    if (properties !== undefined && typeof type === "string") events.set(type, properties);
    Object.values(value).forEach(collect);
  };
  collect(schema("frames"));
  for (const [type, fields] of Object.entries(FIELDS)) {
    for (const field of Object.keys(fields)) assert.ok(events.get(type)?.[field] !== undefined, `${type}.${field}`);
  }
});

test("frames are read, and what is no frame is passed over", () => {
  const text = JSON.stringify({ event: { type: "error", error: "words" }, run: "r", seq: 3, re: 7, at: "2026-01-01T00:00:00Z" });
  assert.deepEqual(frameOf(text), { event: { type: "error", error: "words" }, run: "r", seq: 3, re: 7 });
  for (const none of ["", "[]", "null", '"x"', "{", "{}", '{"event":[]}', '{"event":{"type":1}}']) assert.equal(frameOf(none), null, none);
});

test("an event of an unknown type or without its fields changes nothing", () => {
  const type = (event: object) => frameOf(JSON.stringify({ event, run: "r", seq: 1 }))?.event.type;
  assert.equal(type({ type: "invented" }), "other");
  assert.equal(type({ type: "constructor" }), "other");
  assert.equal(type({ type: "patch_ready", turn: 1 }), "other");
  assert.equal(type({ type: "verdict", verdict: {}, findings: {} }), "other");
  assert.equal(type({ type: "file", path: "a", side: "base", text: null }), "file");
});
