import assert from "node:assert/strict";
import { test } from "node:test";
import { Questions } from "../src/questions.ts";
import { Runs } from "../src/runs.ts";
import type { Answer, Message, RunState, Standing } from "../src/wire.ts";
import { notifications } from "./vscode.ts";

const pause = (ms: number) => new Promise((keep) => setTimeout(keep, ms));
const LONG = `wc -l ${"src/math.sh ".repeat(30)}TAIL`;

/** A run that asks for a command, and a person who sees notifications. */
function scene(line: string) {
  notifications.length = 0;
  const sent: Message[] = [];
  const pages: string[] = [];
  const world = { isOpen: true, readable: true, answer: async (): Promise<Answer> => ({ type: "done", message: "" }) };
  const connection = {
    get isOpen() {
      return world.isOpen;
    },
    ask: (message: Message) => {
      sent.push(message);
      return world.answer();
    },
  };
  const runs = new Runs(async () => ({ type: "done", message: "" }), () => true);
  const changes = {
    show: async () => {},
    showCommand: async ({ run }: { run: string }) => {
      pages.push(run);
      return world.readable;
    },
  };
  const questions = new Questions(connection, runs, changes);
  runs.told.add((model) => questions.update(model));
  const stands = (standing: Standing) => {
    const usage = { cost_micro_usd: null };
    const state: RunState = { run: "r", workspace: "/w", request: "Do it", standing, message: "", turn: 1, of: 3, began: "", usage, files: [], landed: false };
    runs.take({ event: { type: "run_changed", state } });
  };
  stands("waiting");
  runs.take({ event: { type: "question_asked", gate: "g", question: { question: "command", role: "builder", line } }, run: "r", seq: 1 });
  const happens = (seq: number) => runs.take({ event: { type: "other" }, run: "r", seq });
  const answered = (seq: number) => runs.take({ event: { type: "question_answered", gate: "g", yes: true }, run: "r", seq });
  return { sent, pages, world, stands, happens, answered, latest: () => notifications.at(-1) ?? assert.fail("nothing is asked") };
}

test("a command that does not fit is allowed only after it was shown", async () => {
  const { sent, pages, world, latest } = scene(LONG);
  await pause(300);
  assert.deepEqual(latest().buttons, ["Show…", "Deny"]);
  assert.ok(!latest().text.includes("TAIL"));
  world.readable = false;
  latest().press("Show…");
  await pause(10);
  assert.deepEqual([pages.length, latest().buttons], [1, ["Show…", "Deny"]], "a page that is not whole counts for nothing");
  world.readable = true;
  latest().press("Show…");
  await pause(10);
  assert.deepEqual([pages.length, latest().buttons], [2, ["Allow once", "Always", "Deny", "Show…"]]);
  latest().press("Allow once");
  await pause(10);
  assert.deepEqual(sent, [{ type: "answer", run: "r", gate: "g", reply: "yes" }]);
});

test("while an answer is on its way nobody is asked again", async () => {
  const { sent, world, happens, answered, latest } = scene("ls");
  await pause(300);
  let arrives = (_: Answer) => {};
  world.answer = () => new Promise((keep) => (arrives = keep));
  latest().press("Deny");
  await pause(10);
  happens(2);
  await pause(300);
  arrives({ type: "done", message: "" });
  await pause(300);
  answered(3);
  await pause(300);
  assert.deepEqual([notifications.length, sent.length], [1, 1]);
});

test("an answer that was lost may have arrived, and what was not answered is asked again", async () => {
  const { world, latest } = scene("ls");
  await pause(300);
  world.answer = async () => ({ type: "lost", sent: true });
  latest().press("Allow once");
  await pause(10);
  assert.match(latest().text, /may have arrived/);
  await pause(300);
  assert.match(latest().text, /asks to run: ls/);
  world.isOpen = false;
  latest().press("Allow once");
  await pause(10);
  assert.match(latest().text, /nothing was answered/);
});

test("a question outlives the daemon that asked it", async () => {
  const { stands, answered, latest } = scene("ls");
  await pause(300);
  stands("interrupted");
  await pause(300);
  assert.equal(notifications.length, 1);
  stands("waiting");
  await pause(300);
  assert.equal(notifications.length, 2);
  assert.match(latest().text, /asks to run: ls/);
  answered(2);
  latest().press("Allow once");
  await pause(10);
  assert.match(latest().text, /answered already/);
});
