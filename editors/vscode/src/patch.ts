interface Hunk {
  oldStart: number;
  newStart: number;
  lines: string[];
}

/** A change as a unified diff of git, by the paths of its files. */
export class Patch {
  private readonly hunks = new Map<string, Hunk[]>();

  constructor(text: string) {
    let hunks: Hunk[] = [];
    let left = { old: 0, now: 0 };
    for (const line of text.split("\n")) {
      const hunk = hunks.at(-1);
      if (hunk !== undefined && (left.old > 0 || left.now > 0) && /^[ +-]|^$/.test(line)) {
        hunk.lines.push(line);
        if (!line.startsWith("+")) left.old--;
        if (!line.startsWith("-")) left.now--;
        continue;
      }
      const path = /^(?:\+\+\+ b|--- a)\/(?<path>[^\t]*)/.exec(line)?.groups?.path;
      if (path !== undefined) {
        // A deleted file has a name on the old side only.
        if (line.startsWith("---") || !this.hunks.has(path)) this.hunks.set(path, (hunks = []));
        else hunks = this.hunks.get(path) ?? [];
        continue;
      }
      const head = /^@@ -(?<old>\d+)(?:,(?<olds>\d+))? \+(?<now>\d+)(?:,(?<nows>\d+))? @@/.exec(line)?.groups;
      if (head !== undefined) {
        left = { old: Number(head.olds ?? 1), now: Number(head.nows ?? 1) };
        hunks.push({ oldStart: Number(head.old), newStart: Number(head.now), lines: [] });
      }
    }
  }

  /** The files that it touches. */
  get paths(): string[] {
    return [...this.hunks.keys()];
  }

  /** Returns where a line of the changed file was before the change, both from 1; of an added line, the line above it. */
  before(path: string, line: number): number {
    let shift = 0;
    for (const { oldStart, newStart, lines } of this.hunks.get(path) ?? []) {
      let [old, now] = [oldStart, newStart];
      if (line < now) break;
      for (const text of lines) {
        if (text.startsWith("-")) {
          old++;
          continue;
        }
        if (now === line) return Math.max(1, text.startsWith("+") ? old - 1 : old);
        now++;
        if (!text.startsWith("+")) old++;
      }
      shift = old - now;
    }
    return Math.max(1, line + shift);
  }
}
