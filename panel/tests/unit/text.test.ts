import { expect, test } from "vitest";
import { GistReader } from "../../src/model/gist.ts";
import { count, day, duration, money, several } from "../../src/text/format.ts";
import { plain } from "../../src/text/plain.ts";
import { visible } from "../../src/text/visible.ts";

test("what a terminal or a browser would act on is written out", () => {
  expect(visible("plain äöü 漢字 🙂\n\ttext")).toBe("plain äöü 漢字 🙂\n\ttext");
  expect(visible("\u001b[31mred\u001b[0m")).toBe("\\e[31mred\\e[0m");
  expect(visible("user\u202egnp.exe")).toBe("user\\u{202e}gnp.exe");
  expect(visible("a\u0000b\u200bc\u2066d")).toBe("a\\u{0}b\\u{200b}c\\u{2066}d");
  expect(visible("one\r\ntwo\rthree")).toBe("one\ntwo\\rthree");
  expect(visible("\u0007")).toBe("\\u{7}");
});

const gist = (text: string) => new GistReader().read(text);

test("a reply is told while it arrives", () => {
  const reply = JSON.stringify({ plan: ["Say \"hi\"", "Test it"], patch: "--- a\n+++ b\n", tests: ["x"], risks: [] });
  for (let end = 0; end <= reply.length; end++) expect(() => gist(reply.slice(0, end))).not.toThrow();
  expect(gist(reply)).toEqual({ lines: ['Say "hi"', "Test it"], patchLines: 2 });
  expect(gist(reply.slice(0, 17))?.lines).toEqual(['Say "h']);
  expect(gist("I think that")).toBeNull();
  expect(gist('```json\n{"stopping": "All is')?.lines).toEqual(["All is"]);
  expect(gist('{"plan":["One"],"pat')?.lines).toEqual(["One"]);
  expect(gist('{"issues":[{"severity":"minor","description":"D"},{"description":" "}],"patch":["--- a","","+b"]} "text"')).toEqual({ lines: ["D"], patchLines: 2 });
});

test("a reply that arrives in pieces tells the same, and is not read twice", () => {
  const reply = JSON.stringify({ plan: ["Say \"hi\" \ud83d\ude00\u0007", "Test it\n"], patch: "--- a\n+++ b\n\n+x\n", tests: ["x"] });
  for (const step of [1, 2, 3, 7]) {
    const reader = new GistReader();
    for (let end = step; end < reply.length; end += step) expect(reader.read(reply.slice(0, end)) ?? { lines: [], patchLines: 0 }).toEqual(gist(reply.slice(0, end)) ?? { lines: [], patchLines: 0 });
    expect(reader.read(reply)).toEqual({ lines: ['Say "hi" 😀\u0007', "Test it\n"], patchLines: 4 });
  }
  const reader = new GistReader();
  let text = '{"plan":["';
  const began = performance.now();
  for (let piece = 0; piece < 5000; piece++) reader.read((text += "A step of the plan, told at some length.\",\""));
  expect(performance.now() - began).toBeLessThan(3000);
});

test("numbers are said as people say them", () => {
  expect([36, 1234, 48_900, 72_000, 7_500_000].map(duration)).toEqual(["36 ms", "1.2 s", "48 s", "1 min 12 s", "2 h 5 min"]);
  expect([0, 4000, 140_000, 2_500_000].map(money)).toEqual(["$0.00", "<$0.01", "$0.14", "$2.50"]);
  expect([840, 1000, 41_200, 1_234_567].map(count)).toEqual(["840", "1k", "41k", "1.2M"]);
  expect([several(1, "run"), several(2, "run")]).toEqual(["1 run", "2 runs"]);
  const now = new Date(2026, 10, 22, 12);
  expect(day(new Date(2026, 10, 22, 1).toISOString(), now)).toBe("Today");
  expect(day(new Date(2026, 10, 21, 23).toISOString(), now)).toBe("Yesterday");
});

test("what was found in JSON is told without it", () => {
  const found = 'Add factorial\n{"plan":["Read how \u0001gcd\u0002 is written","Add two tests"],"patch":["--- a/src/math.sh","+++ b/src/math.sh…';
  expect(plain(found)).toBe("Add factorial · Read how \u0001gcd\u0002 is written · Add two tests · --- a/src/math.sh · +++ b/src/math.sh…");
  expect(plain('…t","risks":["It may break"],"why":"one\\ntwo \\"three\\""}')).toBe('…t · It may break · one two "three"');
  expect(plain('Say "hi" to {x}, [y]')).toBe('Say "hi" to {x}, [y]');
});
