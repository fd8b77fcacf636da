import assert from "node:assert/strict";
import { test } from "node:test";
import { Findings } from "../src/findings.ts";
import { Patch } from "../src/patch.ts";
import { type Deed, possible, Runs } from "../src/runs.ts";
import { dollars, folded, inLine, inNotification, spelledOut, visible } from "../src/text.ts";
import { commandPage, lostText, questionWords, standingText, verdictText } from "../src/verdict.ts";
import type { Event, Issue, Message, Question, RunState } from "../src/wire.ts";

const issue = (id: string | null, description = "words"): Issue => ({ severity: "major", description, issue_id: id });
const state = (more: Partial<RunState> = {}): RunState => ({
  run: "r1",
  workspace: "/repo",
  request: "Do it",
  standing: "running",
  message: "",
  turn: 1,
  of: 3,
  began: "2026-01-01T00:00:00Z",
  usage: { cost_micro_usd: null },
  files: [],
  landed: false,
  ...more,
});

test("a finding stands until a review, a test, a verdict or a person says otherwise", () => {
  const findings = new Findings();
  const standing = () => findings.standing().map(({ id }) => id);
  findings.reviewed([issue("a"), issue("b"), issue(null, "no name")]);
  assert.deepEqual(standing(), ["a", "b", "no name"]);
  assert.equal(findings.get("no name")?.named, false);
  findings.reviewed([issue("a"), issue(null, "no name")]);
  assert.deepEqual(standing(), ["a", "no name"]);
  findings.arbitrating("a");
  findings.arbitratedAs("bug_refuted");
  assert.deepEqual(standing(), ["no name"]);
  const finding = (id: string, status: "open" | "settled" | "confirmed") => ({ id, issue: issue(id), status: { status } });
  findings.judged([finding("a", "confirmed"), finding("f-1", "open"), finding("c", "settled")]);
  assert.deepEqual(standing(), ["a", "f-1"]);
  findings.disputed("a");
  assert.deepEqual(standing(), ["f-1"]);
});

test("a line of the change is found in the tree before it", () => {
  const patch = new Patch(
    "diff --git a/x.ts b/x.ts\n--- a/x.ts\n+++ b/x.ts\n@@ -2,3 +2,4 @@\n two\n-three\n+3\n+new\n four\n@@ -10 +11,0 @@\n-ten\n" +
      "diff --git a/new.ts b/new.ts\n--- /dev/null\n+++ b/new.ts\n@@ -0,0 +1,2 @@\n+--- a/trick.ts\n+b\n",
  );
  assert.deepEqual(patch.paths, ["x.ts", "new.ts"]);
  const before = [1, 2, 4, 5, 6, 10, 20].map((line) => patch.before("x.ts", line));
  assert.deepEqual(before, [1, 2, 3, 4, 5, 9, 20]);
  assert.equal(patch.before("new.ts", 2), 1);
  assert.equal(patch.before("untouched.ts", 7), 7);
});

test("runs that go on and the latest are followed, from where they were", async () => {
  const sent: Message[] = [];
  const ask = async (message: Message): Promise<Event> => {
    sent.push(message);
    return message.type === "list_runs" ? { type: "runs", runs: [state({ standing: "approved" })] } : { type: "done", message: "" };
  };
  const runs = new Runs(ask, (root) => root === "/repo");
  const told: number[] = [];
  runs.told.add((model) => told.push(model.lastSeq));
  await runs.begin(["/repo"]);
  assert.deepEqual(sent.at(-1), { type: "subscribe", run: "r1", from_seq: 1 });
  const question = { type: "question_asked", gate: "g", question: { question: "land" } } as const;
  runs.take({ event: question, run: "r1", seq: 5 });
  assert.deepEqual(told, [], "without its beginning nothing is known of a run");
  runs.take({ event: { type: "other" }, run: "r1", seq: 1 });
  runs.take({ event: question, run: "r1", seq: 5 });
  runs.take({ event: question, run: "r1", seq: 5 });
  assert.deepEqual(told, [1, 5]);
  assert.equal(runs.model("r1")?.questions.size, 1);
  runs.take({ event: { type: "run_changed", state: state({ standing: "interrupted" }) } });
  assert.deepEqual(runs.open("r1"), [], "nobody waits for an answer");
  runs.take({ event: { type: "run_changed", state: state({ standing: "waiting" }) } });
  assert.deepEqual(runs.open("r1").map(({ gate }) => gate), ["g"], "the run goes on with its question");
  assert.deepEqual(told, [1, 5, 5]);
  runs.pause();
  await runs.begin(["/repo"]);
  assert.deepEqual(sent.at(-1), { type: "subscribe", run: "r1", from_seq: 6 });
  const next = state({ run: "r2", began: "2026-01-02T00:00:00Z" });
  runs.take({ event: { type: "run_changed", state: next } });
  assert.deepEqual(sent.slice(-2), [
    { type: "subscribe", run: "r2", from_seq: 1 },
    { type: "unsubscribe", run: "r1" },
  ]);
  runs.take({ event: { type: "run_changed", state: state({ run: "r3", workspace: "/elsewhere" }) } });
  assert.equal(runs.get("r3"), undefined);
});

test("what a run still asks is asked again when the connection is back", async () => {
  const ask = async (message: Message): Promise<Event> => {
    if (message.type === "list_runs") return { type: "runs", runs: [state({ standing: "waiting" })] };
    return message.type === "subscribe" ? { type: "subscribed", run: "r1", latest_seq: 1 } : { type: "done", message: "" };
  };
  const runs = new Runs(ask, () => true);
  let told = 0;
  await runs.begin(["/repo"]);
  runs.take({ event: { type: "question_asked", gate: "g", question: { question: "land" } }, run: "r1", seq: 1 });
  await new Promise((keep) => setTimeout(keep));
  runs.told.add(() => told++);
  runs.pause();
  await runs.begin(["/repo"]);
  await new Promise((keep) => setTimeout(keep));
  assert.equal(told, 1);
});

test("the events of an older run are asked for, and no more than those", async () => {
  const sent: Message[] = [];
  const runs: Runs = new Runs(
    async (message) => {
      sent.push(message);
      if (message.type !== "subscribe") return { type: "done", message: "" };
      for (const seq of [1, 2]) setTimeout(() => runs.take({ event: { type: "other" }, run: "old", seq }), seq);
      return { type: "subscribed", run: "old", latest_seq: 2 };
    },
    () => true,
  );
  await runs.know("old");
  assert.equal(runs.model("old")?.lastSeq, 2);
  assert.deepEqual(sent.map(({ type }) => type), ["subscribe", "unsubscribe"]);
});

test("text of agents cannot do anything", () => {
  assert.equal(visible("a\u001b[31mb\u0007\u202ec\r\nd"), "a[31mb\\u202ec\nd");
  assert.equal(inLine("one\n two\tthree", 100), "one two three");
  assert.equal(inLine("12345", 4), "123…");
  assert.ok(!inNotification("[press](command:workbench.action.quit)").includes("]("));
});

const command = (line: string): Question => ({ question: "command", role: "builder", line });

test("a command may be allowed where all of it can be read, and only there", () => {
  const words = (line: string, seen = false) => questionWords(command(line), seen) ?? assert.fail();
  const buttons = (line: string, seen = false) => {
    const { yes, always, no, show } = words(line, seen);
    return [yes, always, no, show].filter((button) => button !== null);
  };
  assert.equal(words("wc -l src/math.sh").text, "The builder asks to run: wc -l src/math.sh");
  const short = "wc -l ".padEnd(300, "x");
  for (const line of ["wc -l src/math.sh", "grep 'prüfe' é.txt", short]) assert.deepEqual(buttons(line), ["Allow once", "Always", "Deny"], line);
  const unread = [
    `${short}x`,
    `wc -l ${"src/math.sh ".repeat(30)}TAIL`,
    "rm\n-rf x",
    "rm  -rf x",
    "rm -rf x ",
    "rm\t-rf",
    "rm\u00a0-rf",
    "a\u001b[2Kb",
    "a\u0000b",
    "a\u200bb",
    "a\u00adb",
    "a\u{e0061}b",
    "a\u3164b",
    "a\u2800b",
    "rm \u202e/x",
    "rm \u05d0/b",
    "[a](command:b)",
  ];
  for (const line of unread) {
    assert.deepEqual(buttons(line), ["Deny", "Show…"], JSON.stringify(line));
    assert.deepEqual(buttons(line, true), ["Allow once", "Always", "Deny", "Show…"]);
    assert.ok(words(line).text.length < 300 && words(line, true).text.length < 300);
  }
  assert.equal(questionWords({ question: "invented" } as never), null);
});

test("the page of a command leaves nothing out", () => {
  const line = `wc -l ${"src/math.sh ".repeat(30)}${"y".repeat(200)} \u202e\n  TAIL`;
  const page = commandPage({ run: "r1", gate: "g", question: command(line) });
  const pieces = page.split("\n").filter((text) => text.startsWith("    ")).map((text) => text.slice(4));
  assert.equal(pieces.join(""), spelledOut(line));
  assert.ok(pieces.every((piece) => [...piece].length <= 80));
  assert.ok(spelledOut(line).endsWith(" \\u{202e}\\n  TAIL"), "what cannot be seen is spelled out");
  assert.match(page, /It is one line of 575 characters, folded here/);
  assert.deepEqual(folded("", 80), [""]);
  assert.doesNotMatch(commandPage({ run: "r1", gate: "g", question: command("ls") }), /folded|spelled/);
});

test("what a run allows follows from where it stands", () => {
  const deeds = (more: Partial<RunState>): Deed[] => possible(state(more));
  assert.deepEqual(deeds({ standing: "waiting" }), ["stop"]);
  assert.deepEqual(deeds({ standing: "interrupted" }), ["resume", "follow"]);
  assert.deepEqual(deeds({ standing: "error" }), ["resume", "follow"]);
  assert.deepEqual(deeds({ standing: "not_approved", stopped_by: "budget" }), ["raise", "follow"]);
  assert.deepEqual(deeds({ standing: "not_approved", stopped_by: "oscillation" }), ["follow"]);
  assert.deepEqual(deeds({ standing: "approved", stopped_by: "not_landed" }), ["land", "follow"]);
  assert.deepEqual(deeds({ standing: "approved", landed: true }), ["undo", "follow"]);
  assert.deepEqual(deeds({ standing: "applied", stopped_by: "taken_back" }), ["land", "follow"]);
});

test("words that are not known yet break nothing", () => {
  assert.equal(standingText(state({ standing: "not_approved", stopped_by: "taken_back" })), "taken back");
  assert.equal(standingText(state({ standing: "applied", stopped_by: "taken_back" })), "taken back");
  assert.equal(standingText(state({ standing: "applied", landed: true })), "applied");
  assert.equal(standingText(state({ standing: "not_approved", stopped_by: "invented" })), "not approved");
  const odd = state({ standing: "half_way" as never, stopped_by: "invented" });
  assert.equal(standingText(odd), "half way");
  assert.match(verdictText(odd, undefined), /^HALF WAY/);
  assert.match(verdictText(state({ standing: "applied", stopped_by: "taken_back" }), undefined), /^TAKEN BACK/);
  assert.deepEqual(possible(odd), ["follow"]);
});

test("nobody is told that something was not done which may have been", () => {
  assert.match(lostText(true), /may have been done/);
  assert.match(lostText(false), /nothing was done/);
});

test("a verdict is a page of text", () => {
  const runs = new Runs(async () => ({ type: "lost", sent: false }), () => true);
  const gates = [{ gate: "red_green", state: "passed", passed: true, message: "Red on the old code." }];
  const verdict = { decision: "objections", gates, criteria: [{ text: "It works", holds: null }] } as const;
  const findings = [{ id: "a", issue: issue("a", "It fails"), status: { status: "open" } as const }];
  runs.take({ event: { type: "run_changed", state: state({ usage: { cost_micro_usd: 140_000 } }) } });
  runs.take({ event: { type: "turn_judged", turn: 1, verdict: { ...verdict, gates, criteria: [...verdict.criteria] }, findings }, run: "r1", seq: 1 });
  const text = verdictText(runs.get("r1") ?? state(), runs.model("r1"));
  for (const part of ["CHANGES REQUESTED  Do it", "turn 1 of 3 · $0.14 · running", "✓ red green", "? It works", "major  It fails  (a)"]) {
    assert.ok(text.includes(part), part);
  }
  assert.equal(dollars(null), "");
  assert.equal(dollars(1500), "$0.0015");
});
