/** A line of a diff. */
export interface DiffLine {
  sign: " " | "+" | "-";
  text: string;
  /** Its number before the change, from 1; null for an added line. */
  old: number | null;
  /** Its number after the change, from 1; null for a removed line. */
  now: number | null;
  /** Whether the file ends here without a line break. */
  open: boolean;
}

/** Lines that belong together. */
export interface Hunk {
  oldStart: number;
  newStart: number;
  /** What git says the lines are part of. */
  title: string;
  lines: DiffLine[];
}

/** What happens to one file. */
export interface DiffFile {
  path: string;
  /** Its path before, where that was another. */
  oldPath: string | null;
  change: "added" | "deleted" | "modified" | "renamed";
  binary: boolean;
  /** Its mode, where that changes, such as `100644 → 100755`. */
  mode: string | null;
  hunks: Hunk[];
  added: number;
  removed: number;
}

const HUNK = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@ ?(.*)$/;
const REMEMBERED = 16;
const remembered = new Map<string, DiffFile[]>();

/** Reads a unified diff as git writes it. What is no diff is left out; nothing makes it fail. */
export function parsePatch(patch: string): DiffFile[] {
  const known = remembered.get(patch);
  if (known !== undefined) return known;
  const files = new Reader(patch).files();
  remembered.set(patch, files);
  if (remembered.size > REMEMBERED) remembered.delete(remembered.keys().next().value as string);
  return files;
}

/** How many files and lines a patch changes. */
export function countLines(patch: string): { files: number; added: number; removed: number } {
  const files = parsePatch(patch);
  return {
    files: files.length,
    added: files.reduce((sum, file) => sum + file.added, 0),
    removed: files.reduce((sum, file) => sum + file.removed, 0),
  };
}

class Reader {
  private readonly lines: string[];
  private at = 0;
  private readonly read: DiffFile[] = [];

  constructor(patch: string) {
    this.lines = patch.split("\n");
    if (this.lines.at(-1) === "") this.lines.pop();
  }

  files(): DiffFile[] {
    let file: DiffFile | undefined;
    while (this.at < this.lines.length) {
      const line = this.lines[this.at++] as string;
      const next = this.lines[this.at];
      if (line.startsWith("diff --git ")) {
        file = this.begin(pathsOfHeader(line.slice(11)));
      } else if (line.startsWith("--- ") && next?.startsWith("+++ ")) {
        if (file === undefined || file.hunks.length > 0) file = this.begin(["", ""]);
        this.name(file, pathOf(line.slice(4), "a/"), pathOf(next.slice(4), "b/"));
        this.at++;
      } else if (file !== undefined) {
        const hunk = HUNK.exec(line);
        if (hunk !== null) this.hunk(file, hunk);
        else header(file, line);
      }
    }
    return this.read;
  }

  private begin([old, now]: [string, string]): DiffFile {
    const file: DiffFile = {
      path: now,
      oldPath: old === now ? null : old,
      change: "modified",
      binary: false,
      mode: null,
      hunks: [],
      added: 0,
      removed: 0,
    };
    this.read.push(file);
    return file;
  }

  private name(file: DiffFile, old: string | null, now: string | null): void {
    if (old === null) file.change = "added";
    else if (now === null) file.change = "deleted";
    file.path = now ?? old ?? file.path;
    if (old !== null && now !== null && old !== now) file.oldPath = old;
    else if (file.change !== "renamed") file.oldPath = null;
  }

  /** The counts of the head say where a hunk ends: its lines may look like anything. */
  private hunk(file: DiffFile, [, oldStart, oldCount, newStart, newCount, title]: RegExpExecArray): void {
    let old = Number(oldStart);
    let now = Number(newStart);
    let oldLeft = Number(oldCount ?? 1);
    let newLeft = Number(newCount ?? 1);
    // Where there are no lines, git names the line before.
    if (oldLeft === 0) old++;
    if (newLeft === 0) now++;
    const hunk: Hunk = { oldStart: old, newStart: now, title: title ?? "", lines: [] };
    while ((oldLeft > 0 || newLeft > 0) && this.at < this.lines.length) {
      const line = this.lines[this.at] as string;
      const sign = line[0] ?? " ";
      if (sign !== " " && sign !== "+" && sign !== "-" && sign !== "\\") break;
      this.at++;
      if (sign === "\\") {
        markOpen(hunk);
        continue;
      }
      const text = line.slice(1);
      hunk.lines.push({ sign, text, old: sign === "+" ? null : old, now: sign === "-" ? null : now, open: false });
      if (sign !== "+") {
        old++;
        oldLeft--;
      }
      if (sign !== "-") {
        now++;
        newLeft--;
      }
      if (sign === "+") file.added++;
      if (sign === "-") file.removed++;
    }
    if (this.lines[this.at]?.startsWith("\\")) {
      this.at++;
      markOpen(hunk);
    }
    file.hunks.push(hunk);
  }
}

function markOpen(hunk: Hunk): void {
  const last = hunk.lines.at(-1);
  if (last !== undefined) last.open = true;
}

function header(file: DiffFile, line: string): void {
  const after = (start: string) => (line.startsWith(start) ? line.slice(start.length) : undefined);
  const from = after("rename from ") ?? after("copy from ");
  const to = after("rename to ") ?? after("copy to ");
  const mode = after("old mode ");
  const newMode = after("new mode ");
  if (line.startsWith("new file mode")) file.change = "added";
  else if (line.startsWith("deleted file mode")) file.change = "deleted";
  else if (line.startsWith("Binary files ") || line === "GIT binary patch") file.binary = true;
  else if (mode !== undefined) file.mode = mode;
  else if (newMode !== undefined) file.mode = `${file.mode ?? ""} → ${newMode}`;
  else if (from !== undefined) {
    file.change = "renamed";
    file.oldPath = unquote(from);
  } else if (to !== undefined) file.path = unquote(to);
}

/** `a/x b/x`: the two sides are of the same length unless the file was renamed, and then the paths follow. */
function pathsOfHeader(text: string): [string, string] {
  if (text.startsWith('"')) {
    const end = text.indexOf('" ');
    if (end > 0) return [strip(unquote(text.slice(0, end + 1)), "a/"), strip(unquote(text.slice(end + 2)), "b/")];
  }
  const half = (text.length - 1) / 2;
  if (Number.isInteger(half) && text[half] === " ") return [strip(text.slice(0, half), "a/"), strip(text.slice(half + 1), "b/")];
  const space = text.indexOf(" b/");
  return space < 0 ? [text, text] : [strip(text.slice(0, space), "a/"), strip(text.slice(space + 1), "b/")];
}

function pathOf(text: string, prefix: string): string | null {
  const name = unquote(text.split("\t")[0] as string);
  return name === "/dev/null" ? null : strip(name, prefix);
}

function strip(text: string, prefix: string): string {
  return text.startsWith(prefix) ? text.slice(prefix.length) : text;
}

/** Undoes git's quoting of unusual paths: bytes of UTF-8 as octal numbers. */
function unquote(text: string): string {
  if (!text.startsWith('"') || !text.endsWith('"')) return text;
  const bytes: number[] = [];
  const encoder = new TextEncoder();
  const letters: Record<string, number> = { n: 10, t: 9, r: 13, a: 7, b: 8, f: 12, v: 11 };
  for (const [piece, octal, letter] of text.slice(1, -1).matchAll(/\\([0-7]{3})|\\(.)|[^\\]+/gs)) {
    if (octal !== undefined) bytes.push(Number.parseInt(octal, 8));
    else if (letter !== undefined) bytes.push(letters[letter] ?? letter.charCodeAt(0));
    else bytes.push(...encoder.encode(piece));
  }
  return new TextDecoder().decode(new Uint8Array(bytes));
}
