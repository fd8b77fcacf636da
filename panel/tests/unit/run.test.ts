import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { headline, standingTone } from "../../src/model/headline.ts";
import type { Item } from "../../src/model/item.ts";
import { RunModel } from "../../src/model/run.ts";
import type { Event, Frame, RunState } from "../../src/wire/protocol.ts";
import { possible } from "../../src/view/actions.tsx";
import { readFrame } from "../../src/wire/validate.ts";

function recorded(name: string): Frame[] {
  const text = readFileSync(new URL(`../frames/${name}.jsonl`, import.meta.url), "utf8");
  return text
    .trim()
    .split("\n")
    .map((line) => {
      const read = readFrame(line);
      if (!("frame" in read)) throw new Error(JSON.stringify(read));
      return read.frame;
    });
}

function folded(frames: Frame[]): RunModel {
  const model = new RunModel(frames[0]?.run ?? "");
  for (const frame of frames) expect(model.apply(frame)).toBe("taken");
  return model;
}

/** Everything that the timeline says, without the keys that only the page needs. */
function said(model: RunModel): unknown[] {
  return model.timeline.sections.flatMap((section) =>
    section.blocks.flatMap((block) => block.items.map(({ key: _, ...item }) => ({ ...item, turn: section.turn }))),
  );
}

const kinds = (model: RunModel) => model.timeline.sections.flatMap((one) => one.blocks).flatMap((block) => block.items.map((item) => item.kind));
const find = <K extends Item["kind"]>(model: RunModel, kind: K) =>
  model.timeline.sections.flatMap((one) => one.blocks).flatMap((block) => block.items).filter((item): item is Extract<Item, { kind: K }> => item.kind === kind);

const frame = (event: Event, seq: number | null = null): Frame => ({ event, run: "r", task: "main", seq, at: "2026-11-22T10:00:00.000Z" });
const chunk = (text: string, start: boolean, seq: number): Frame => frame({ type: "stream_chunk", role: "builder", chunk: text, start }, seq);

describe("a run", () => {
  test("has every event once, wherever the connection breaks", () => {
    for (const name of ["factorial", "arbiter", "oscillation"]) {
      const frames = recorded(name);
      const whole = said(folded(frames));
      for (let cut = 1; cut < frames.length; cut += 7) {
        const model = folded(frames.slice(0, cut));
        model.pause();
        // The daemon tells a few again that came just before the break, and then the rest.
        const again = frames.slice(Math.max(0, cut - 3));
        const taken = again.map((one) => model.apply(one));
        expect(taken.slice(0, Math.min(3, cut))).toEqual(Array(Math.min(3, cut)).fill("old"));
        expect(said(model)).toEqual(whole);
        expect(model.lastSeq).toBe(frames.at(-1)?.seq);
      }
    }
  });

  test("notices what is missing, and takes nothing in front of it", () => {
    const frames = recorded("factorial");
    const model = folded(frames.slice(0, 10));
    expect(model.apply(frames[12] as Frame)).toBe("gap");
    expect(model.lastSeq).toBe(10);
    for (const one of frames.slice(10)) model.apply(one);
    expect(said(model)).toEqual(said(folded(frames)));
  });

  test("uses up the number of an event that cannot be read", () => {
    const frames = recorded("factorial");
    const model = folded(frames.slice(0, 10));
    expect(model.skip(11)).toBe("taken");
    expect(model.apply(frames[10] as Frame)).toBe("old");
    expect(model.apply(frames[11] as Frame)).toBe("taken");
  });

  test("tells a reply piece by piece, and begins it anew when it begins anew", () => {
    const model = new RunModel("r");
    model.apply(frame({ type: "turn_started", turn: 1, of: 3 }, 1));
    model.apply(chunk("lost: nobody heard its beginning", false, 1));
    expect(model.streams.size).toBe(0);
    model.apply(chunk("one ", true, 1));
    model.apply(chunk("two", false, 1));
    model.apply(chunk(" three", false, 1));
    expect(model.streams.get("builder")?.text).toBe("one two three");
    model.apply(chunk("The whole text so far", true, 1));
    expect(model.streams.get("builder")?.text).toBe("The whole text so far");
    expect(model.lastSeq).toBe(1);
    const reply = { files_needed: [], plan: ["Do it"], patch: "", tests: [], run: [], risks: ["It may break"], answers: [], conflict: null };
    model.apply(frame({ type: "builder_ready", reply, turn: 1 }, 2));
    expect(model.streams.size).toBe(0);
    expect(find(model, "builder")[0]?.reply.risks).toEqual(["It may break"]);
  });

  test("forgets a question when it is answered, by whoever it was", () => {
    const model = new RunModel("r");
    model.apply(frame({ type: "question_asked", gate: "a", question: { question: "command", role: "builder", line: "ls" } }, 1));
    model.apply(frame({ type: "question_asked", gate: "b", question: { question: "land" } }, 2));
    expect([...model.questions.keys()]).toEqual(["a", "b"]);
    model.apply(frame({ type: "question_answered", gate: "a", yes: false, text: "Not that." }, 3));
    expect([...model.questions.keys()]).toEqual(["b"]);
    expect(find(model, "user").at(-1)?.text).toBe("`ls`: no. Not that.");
    model.apply(frame({ type: "question_answered", gate: "never asked", yes: true, text: "" }, 4));
    expect(headlineOf(model)).toBe("No verdict yet");
  });

  test("has its turns, its messages and its end in order", () => {
    const model = folded(recorded("factorial"));
    expect(model.timeline.sections.map((section) => section.turn)).toEqual([null, 1, 2, null]);
    expect(kinds(model).filter((kind) => kind !== "status" && kind !== "evidence")).toEqual(
      "user tests builder patch tests reviewer review builder patch tests reviewer review success".split(" "),
    );
    expect(model.timeline.sections[1]?.summary).toMatchObject({ added: 11, removed: 0, tests: { passed: 4 }, verdict: "request_changes", blockers: 1 });
    expect(find(model, "patch").map((item) => item.before !== null)).toEqual([false, true]);
    expect(headlineOf(model)).toBe("Approved");
    expect(model.over).toBe(true);
    expect(model.streams.size + model.parts.size + model.questions.size).toBe(0);
  });

  test("that was refused says why and what would change it", () => {
    const model = folded(recorded("oscillation"));
    const head = headline(model, undefined);
    expect(head).toMatchObject({ title: "Not approved", tone: "err" });
    expect(head.changes.length).toBeGreaterThan(1);
    expect(kinds(model).at(-1)).toBe("warning");
  });

  test("knows what became of a disputed finding", () => {
    const [finding] = folded(recorded("arbiter")).findings.list();
    expect(finding).toMatchObject({ id: "only-punctuation", status: "refuted", turns: [1, 2], named: true });
    expect(finding?.arbiter).toMatchObject({ outcome: "bug_refuted" });
    expect(finding?.answers.map((answer) => answer.answer)).toContain("disagree");
  });

  test("shows no old goal beside the evidence for a new candidate", () => {
    const frames = recorded("factorial");
    const judged = frames.findIndex((one) => one.event.type === "turn_judged");
    const model = folded(frames.slice(0, judged + 1));
    expect(model.decided?.criteria).toBeDefined();
    for (const one of frames.slice(judged + 1)) {
      model.apply(one);
      if (one.event.type === "tests_output" && one.event.check === "tests") break;
    }
    expect(model.verdict?.turn).toBe(1);
    expect(model.decided).toBeNull();
    for (const one of frames.slice(model.lastSeq)) model.apply(one);
    expect(model.decided?.decision).toBe("approved");
  });

  test("that did not land is no warning, and its time ends with its agents", () => {
    const model = folded(recorded("factorial"));
    const end = model.settledAt;
    expect(end).toBe(recorded("factorial").at(-1)?.at);
    const reason = "Approved and landed, then taken back. `checkmate land RUN` brings the change to your tree again.";
    const later = (event: Event): Frame => ({ ...frame(event, model.lastSeq + 1), run: model.run, at: "2026-11-30T10:00:00.000Z" });
    model.apply(later({ type: "command_taken", command: { command: "taken_back" } }));
    model.apply(later({ type: "cycle_complete", success: false, message: reason, iterations: 2 }));
    model.apply(later({ type: "outcome", outcome: { outcome: "not_approved", stopped_by: "not_landed", reason } }));
    expect(find(model, "warning")).toEqual([]);
    expect(find(model, "status").at(-1)?.lines.at(-1)?.text).toBe("Approved and landed, then taken back. Land brings it into your tree again.");
    model.apply(later({ type: "part_started", part: "x", work: { work: "land" } }));
    model.apply(later({ type: "part_ended", part: "x" }));
    expect(model.settledAt).toBe(end);
    model.apply(later({ type: "part_started", part: "y", work: { work: "call", role: "builder", purpose: "build" } }));
    expect(model.settledAt).toBeNull();
  });

  test("of which it is not known how it stands is taken for nothing better than it is", () => {
    const frames = recorded("factorial");
    const half = folded(frames.slice(0, 60));
    expect(headlineOf(half)).toBe("Not over");
    expect(possible(half, undefined)).toEqual({ stop: false, resume: true, land: false, undo: false });
    const state = { run: half.run, standing: "interrupted", stopped_by: null, landed: false } as unknown as RunState;
    expect(headline(half, state).title).toBe("Interrupted");
    expect(possible(half, state)).toEqual({ stop: false, resume: true, land: false, undo: false });
    const queued: RunState = { ...state, standing: "queued" };
    expect(headline(new RunModel("r"), queued).title).toBe("Queued");
    expect(possible(new RunModel("r"), queued).stop).toBe(true);
    const back = { ...state, standing: "not_approved", stopped_by: "taken_back" } as unknown as RunState;
    expect(standingTone(back)).toEqual({ tone: "idle", word: "your patch · taken back" });
    expect(possible(new RunModel("r"), back).land).toBe(true);
  });

  test("goes on after its end when it is resumed", () => {
    const model = folded(recorded("factorial"));
    const next = model.lastSeq + 1;
    model.apply({ ...frame({ type: "part_started", part: "x", work: { work: "land" } }, next), run: model.run });
    expect(model.over).toBe(false);
    expect(model.outcome).toBeNull();
  });
});

function headlineOf(model: RunModel): string {
  return headline(model, undefined).title;
}
