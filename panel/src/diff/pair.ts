import type { DiffLine } from "./parse.ts";

/** A row of two columns: what was there and what is there. */
export interface Pair {
  old: DiffLine | null;
  now: DiffLine | null;
}

/** Puts removed lines beside the added ones that follow them. */
export function pairs(lines: DiffLine[]): Pair[] {
  const rows: Pair[] = [];
  let removed: DiffLine[] = [];
  let added: DiffLine[] = [];
  const settle = () => {
    for (let index = 0; index < Math.max(removed.length, added.length); index++) {
      rows.push({ old: removed[index] ?? null, now: added[index] ?? null });
    }
    removed = [];
    added = [];
  };
  for (const line of lines) {
    if (line.sign === "-") {
      if (added.length > 0) settle();
      removed.push(line);
    } else if (line.sign === "+") added.push(line);
    else {
      settle();
      rows.push({ old: line, now: line });
    }
  }
  settle();
  return rows;
}
