import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { between } from "../../src/diff/between.ts";
import { steps } from "../../src/diff/lines.ts";
import { pairs } from "../../src/diff/pair.ts";
import { countLines, type DiffFile, parsePatch } from "../../src/diff/parse.ts";

const folder = mkdtempSync(join(tmpdir(), "panel-diff-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** What git says lies between two texts. */
function git(old: string, now: string): string {
  writeFileSync(join(folder, "old"), old);
  writeFileSync(join(folder, "new"), now);
  try {
    execFileSync("git", ["diff", "--no-index", "--no-color", "old", "new"], { cwd: folder });
    return "";
  } catch (difference) {
    const text = String((difference as { stdout: Buffer }).stdout);
    return text.replaceAll("a/old", "a/file").replaceAll("b/new", "b/file");
  }
}

/** Applies a diff of one file to the lines before, by its numbers alone. */
function apply(old: string[], file: DiffFile | undefined): string[] {
  if (file === undefined) return old;
  const now: string[] = [];
  let at = 1;
  for (const hunk of file.hunks) {
    while (at < hunk.oldStart) now.push(old[at++ - 1] as string);
    expect(now.length + 1, "the number of the hunk's first line after the change").toBe(hunk.newStart);
    for (const line of hunk.lines) {
      if (line.sign !== "+") {
        expect(line.old).toBe(at);
        expect(line.text).toBe(old[at++ - 1]);
      }
      if (line.sign !== "-") {
        now.push(line.text);
        expect(line.now).toBe(now.length);
      }
    }
  }
  return [...now, ...old.slice(at - 1)];
}

/** Numbers that look random and are the same each time. */
function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1664525 + 1013904223) % 4294967296;
    return state / 4294967296;
  };
}

function changed(lines: string[], random: () => number): string[] {
  const now = [...lines];
  for (let edits = Math.floor(random() * 6); edits >= 0; edits--) {
    const at = Math.floor(random() * (now.length + 1));
    const kind = random();
    if (kind < 0.4) now.splice(at, 0, `new ${Math.floor(random() * 5)}`);
    else if (kind < 0.7) now.splice(at, 1 + Math.floor(random() * 3));
    else if (at < now.length) now[at] = `changed ${Math.floor(random() * 5)}`;
  }
  return now;
}

const text = (lines: string[]) => lines.map((line) => `${line}\n`).join("");

describe("a patch", () => {
  test("is read as git writes it", () => {
    const files = parsePatch(
      [
        "diff --git a/src/a.ts b/src/a.ts",
        "index 1..2 100644",
        "--- a/src/a.ts",
        "+++ b/src/a.ts",
        "@@ -1,3 +1,3 @@ function a() {",
        " one",
        "--- two",
        "+++ three",
        " four",
        "\\ No newline at end of file",
        "diff --git a/new b/new",
        "new file mode 100755",
        "--- /dev/null",
        "+++ b/new",
        "@@ -0,0 +1 @@",
        "+x",
        'diff --git "a/sp\\303\\244t" "b/sp\\303\\244t"',
        "deleted file mode 100644",
        'Binary files "a/sp\\303\\244t" and /dev/null differ',
        "diff --git a/from b/to",
        "similarity index 100%",
        "rename from from",
        "rename to to",
        "",
      ].join("\n"),
    );
    expect(files.map(({ path, oldPath, change, binary, added, removed }) => ({ path, oldPath, change, binary, added, removed }))).toEqual([
      { path: "src/a.ts", oldPath: null, change: "modified", binary: false, added: 1, removed: 1 },
      { path: "new", oldPath: null, change: "added", binary: false, added: 1, removed: 0 },
      { path: "spät", oldPath: null, change: "deleted", binary: true, added: 0, removed: 0 },
      { path: "to", oldPath: "from", change: "renamed", binary: false, added: 0, removed: 0 },
    ]);
    const [hunk] = (files[0] as DiffFile).hunks;
    expect(hunk?.title).toBe("function a() {");
    expect(hunk?.lines.map(({ sign, text, old, now, open }) => [sign, text, old, now, open])).toEqual([
      [" ", "one", 1, 1, false],
      ["-", "-- two", 2, null, false],
      ["+", "++ three", null, 2, false],
      [" ", "four", 3, 3, true],
    ]);
  });

  test("that is none has no files and breaks nothing", () => {
    for (const junk of ["", "hello", "@@ -1 +1 @@\n-a", "--- \n+++ \n@@ -9999999 +1,5 @@\n", "diff --git \n--- a\n"]) {
      expect(() => parsePatch(junk)).not.toThrow();
    }
  });

  test("and its numbers give what git made it from", () => {
    const random = numbers(7);
    for (let round = 0; round < 60; round++) {
      const old = Array.from({ length: Math.floor(random() * 30) }, (_, index) => `line ${index % 7}`);
      const now = changed(old, random);
      expect(apply(old, parsePatch(git(text(old), text(now)))[0])).toEqual(now);
    }
  });
});

describe("what lies between two changes of one base", () => {
  test("leads from the one to the other", () => {
    const random = numbers(11);
    for (let round = 0; round < 120; round++) {
      const base = Array.from({ length: 4 + Math.floor(random() * 60) }, (_, index) => `line ${index % 9}`);
      const before = changed(base, random);
      const after = changed(random() < 0.5 ? before : base, random);
      const files = between(git(text(base), text(before)), git(text(base), text(after)));
      expect(files).not.toBeNull();
      expect(apply(before, files?.[0])).toEqual(after);
    }
  });

  test("has files that appear, go and come back", () => {
    const one = git("a\n", "b\n");
    const other = one.replaceAll("file", "other");
    expect(between(one, one + other)?.map((file) => [file.path, file.added, file.removed])).toEqual([["other", 1, 1]]);
    const back = between(one + other, one);
    expect(back?.map((file) => [file.path, file.hunks[0]?.lines.map((line) => line.sign + line.text)])).toEqual([["other", ["+a", "-b"]]]);
    expect(between(one, one)).toEqual([]);
  });

  test("cannot be told where the bases differ", () => {
    expect(between(git("a\nb\nc\n", "a\nB\nc\n"), git("x\nb\nc\n", "x\nb\nC\n"))).toBeNull();
  });
});

describe("lines", () => {
  test("the way from one list to another is right, also where there is too much", () => {
    const random = numbers(3);
    const lists = [
      [[], []],
      [["a"], []],
      [[], ["a"]],
      [Array.from({ length: 1800 }, (_, index) => `o${index}`), Array.from({ length: 1800 }, (_, index) => `n${index}`)],
      ...Array.from({ length: 200 }, () => {
        const old = Array.from({ length: Math.floor(random() * 12) }, () => `${Math.floor(random() * 4)}`);
        return [old, changed(old, random)];
      }),
    ] as [string[], string[]][];
    for (const [old, now] of lists) {
      const way = steps(old, now);
      expect(way.filter((step) => step.sign !== "+").map((step) => step.text)).toEqual(old);
      expect(way.filter((step) => step.sign !== "-").map((step) => step.text)).toEqual(now);
    }
    expect(steps(["a", "b", "c"], ["a", "c"]).map((step) => step.sign).join("")).toBe(" - ");
  });

  test("side by side, removed and added lines face each other", () => {
    const [file] = parsePatch(git("a\nb\nc\n", "a\nx\ny\nc\n"));
    expect(pairs(file?.hunks[0]?.lines ?? []).map((pair) => [pair.old?.text, pair.now?.text])).toEqual([
      ["a", "a"],
      ["b", "x"],
      [undefined, "y"],
      ["c", "c"],
    ]);
  });

  test("of a recorded run are counted", () => {
    const patches = readFileSync(new URL("../frames/factorial.jsonl", import.meta.url), "utf8")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line).event)
      .filter((event) => event.type === "patch_ready");
    expect(countLines(patches[1].patch)).toEqual({ files: 2, added: 19, removed: 0 });
    expect(between(patches[0].patch, patches[1].patch)?.map((file) => `${file.path} +${file.added} -${file.removed}`)).toEqual([
      "src/math.sh +7 -1",
      "test/math_test.sh +2 -0",
    ]);
  });
});
