import assert from "node:assert/strict";
import { test } from "node:test";
import { fileOf, locate } from "../src/locate.ts";

const FILES = ["src/math.ts", "src/deep/math.test.ts", "Makefile"];
const known = (mention: string) => fileOf(mention, FILES, (path) => ["README.md", "a/real.ts"].includes(path));

const CASES: [string, string][] = [
  ["factorial(-3) returns 1 (src/math.ts:21)", "src/math.ts:21"],
  ["see src/math.ts:21:5 for it", "src/math.ts:21"],
  ["`src/math.ts`:21", "src/math.ts:21"],
  ["src/math.ts#L21-L23", "src/math.ts:21"],
  ["src/math.ts(21,5): error", "src/math.ts:21"],
  ["in `src/math.ts`, line 21, it fails", "src/math.ts:21"],
  ["src/math.ts at lines 21-23", "src/math.ts:21"],
  ["line 21 of src/math.ts", "src/math.ts:21"],
  ["Lines 21-23 in `src/math.ts`.", "src/math.ts:21"],
  ["./src/math.ts:21", "src/math.ts:21"],
  ["a/src/math.ts:21", "src/math.ts:21"],
  ["math.ts:21 recurses", "src/math.ts:21"],
  ["/home/me/.local/state/run/site/src/math.ts:21", "src/math.ts:21"],
  ["a/real.ts:4", "a/real.ts:4"],
  ["README.md:3 says otherwise", "README.md:3"],
  ["Makefile:2", "Makefile:2"],
];

for (const [text, wanted] of CASES) {
  test(text, () => {
    const [spot] = locate(text, known);
    assert.equal(spot && `${spot.path}:${spot.line}`, wanted);
  });
}

test("what names no line of a known file is nowhere", () => {
  const none = [
    "",
    "factorial(-3) returns 1",
    "src/math.ts fails",
    "localhost:9876 refuses",
    "http://127.0.0.1:80/x",
    "src/other.ts:3",
    "/etc/passwd:1",
    "../README.md:1",
    "src/math.ts:0",
    "12:30",
  ];
  for (const text of none) assert.deepEqual(locate(text, known), [], text);
});

test("several lines come in the order of the text, each once", () => {
  const spots = locate("line 3 of README.md, then src/math.ts:9 and src/math.ts:9, Makefile:1", known);
  assert.deepEqual(spots.map(({ path, line }) => `${path}:${line}`), ["README.md:3", "src/math.ts:9", "Makefile:1"]);
});

test("a bare name that several files have is none of them", () => {
  assert.equal(fileOf("index.ts", ["a/index.ts", "b/index.ts"], () => false), null);
});
