import { steps } from "./lines.ts";
import { type DiffFile, type DiffLine, type Hunk, parsePatch } from "./parse.ts";

const CONTEXT = 3;

/** A stretch of the base that at least one of two diffs tells of, as each of them leaves it. */
interface Stretch {
  /** The first line of the base, from 1. */
  start: number;
  /** The line after the last. */
  end: number;
  before: string[];
  after: string[];
}

/**
 * What lies between two changes of the same base: `before` and `after` are whole diffs against it. Null where they do
 * not tell, because they are of different bases.
 */
export function between(before: string, after: string): DiffFile[] | null {
  const old = new Map(parsePatch(before).map((file) => [file.path, file]));
  const now = parsePatch(after);
  const files: DiffFile[] = [];
  for (const file of now) {
    const earlier = old.get(file.path);
    old.delete(file.path);
    if (earlier === undefined) files.push(file);
    else {
      const step = fileBetween(earlier, file);
      if (step === null) return null;
      if (step.hunks.length > 0 || step.binary) files.push(step);
    }
  }
  // What is in the diff no more is as it was before the run.
  for (const file of old.values()) files.push(inverse(file));
  return files;
}

function fileBetween(before: DiffFile, after: DiffFile): DiffFile | null {
  const file: DiffFile = { ...after, oldPath: null, change: "modified", mode: null, hunks: [], added: 0, removed: 0 };
  if (before.change === "deleted" && after.change !== "deleted") file.change = "added";
  if (after.change === "deleted" && before.change !== "deleted") file.change = "deleted";
  if (before.binary || after.binary) return { ...file, binary: true };
  const stretches = stretchesOf(before, after);
  if (stretches === null) return null;
  let moved = 0;
  let movedBefore = 0;
  for (const stretch of stretches) {
    const length = stretch.end - stretch.start;
    file.hunks.push(...hunksOf(stretch, stretch.start + movedBefore, stretch.start + moved));
    movedBefore += stretch.before.length - length;
    moved += stretch.after.length - length;
  }
  for (const { lines } of file.hunks) {
    file.added += lines.filter((line) => line.sign === "+").length;
    file.removed += lines.filter((line) => line.sign === "-").length;
  }
  return file;
}

interface Range {
  start: number;
  end: number;
  base: string[];
  lines: string[];
}

function rangeOf(hunk: Hunk): Range {
  const base = hunk.lines.filter((line) => line.sign !== "+").map((line) => line.text);
  const lines = hunk.lines.filter((line) => line.sign !== "-").map((line) => line.text);
  return { start: hunk.oldStart, end: hunk.oldStart + base.length, base, lines };
}

function stretchesOf(before: DiffFile, after: DiffFile): Stretch[] | null {
  const one = before.hunks.map(rangeOf);
  const other = after.hunks.map(rangeOf);
  const all = [...one, ...other].sort((a, b) => a.start - b.start || a.end - b.end);
  const stretches: Stretch[] = [];
  for (let at = 0; at < all.length; ) {
    const start = (all[at] as Range).start;
    let end = (all[at] as Range).end;
    const group: Range[] = [];
    while (at < all.length && (group.length === 0 || (all[at] as Range).start <= end)) {
      end = Math.max(end, (all[at] as Range).end);
      group.push(all[at++] as Range);
    }
    const base = baseOf(group, start, end);
    if (base === null) return null;
    stretches.push({ start, end, before: applied(base, start, group, one), after: applied(base, start, group, other) });
  }
  return stretches;
}

/** The lines of the base; null where two diffs contradict each other. */
function baseOf(group: Range[], start: number, end: number): string[] | null {
  const base = new Array<string | undefined>(end - start).fill(undefined);
  for (const range of group) {
    for (const [index, text] of range.base.entries()) {
      const known = base[range.start - start + index];
      if (known !== undefined && known !== text) return null;
      base[range.start - start + index] = text;
    }
  }
  return base.includes(undefined) ? null : (base as string[]);
}

function applied(base: string[], start: number, group: Range[], of: Range[]): string[] {
  const lines: string[] = [];
  let at = 0;
  for (const range of group) {
    if (!of.includes(range)) continue;
    lines.push(...base.slice(at, range.start - start), ...range.lines);
    at = range.end - start;
  }
  return [...lines, ...base.slice(at)];
}

function hunksOf(stretch: Stretch, oldStart: number, newStart: number): Hunk[] {
  let old = oldStart;
  let now = newStart;
  const lines = steps(stretch.before, stretch.after).map(
    ({ sign, text }): DiffLine => ({
      sign,
      text,
      old: sign === "+" ? null : old++,
      now: sign === "-" ? null : now++,
      open: false,
    }),
  );
  const kept = lines.map(() => false);
  for (const [index, line] of lines.entries()) {
    if (line.sign !== " ") kept.fill(true, Math.max(0, index - CONTEXT), index + CONTEXT + 1);
  }
  const hunks: Hunk[] = [];
  for (const [index, line] of lines.entries()) {
    if (!kept[index]) continue;
    if (index === 0 || !kept[index - 1]) {
      hunks.push({ oldStart: numberAt(lines, index, "old"), newStart: numberAt(lines, index, "now"), title: "", lines: [] });
    }
    hunks.at(-1)?.lines.push(line);
  }
  return hunks;
}

function numberAt(lines: DiffLine[], index: number, side: "old" | "now"): number {
  for (const line of lines.slice(index)) if (line[side] !== null) return line[side];
  return 1;
}

function inverse(file: DiffFile): DiffFile {
  const turned = { added: "deleted", deleted: "added", modified: "modified", renamed: "renamed" } as const;
  const signs = { "+": "-", "-": "+", " ": " " } as const;
  return {
    ...file,
    path: file.oldPath ?? file.path,
    oldPath: file.oldPath === null ? null : file.path,
    change: turned[file.change],
    added: file.removed,
    removed: file.added,
    hunks: file.hunks.map((hunk) => ({
      ...hunk,
      oldStart: hunk.newStart,
      newStart: hunk.oldStart,
      lines: hunk.lines.map((line) => ({ ...line, sign: signs[line.sign], old: line.now, now: line.old })),
    })),
  };
}
