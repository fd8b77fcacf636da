/** What can be told of a reply while it arrives. */
export interface Gist {
  /** Sentences of its plan, findings and reasons, as far as they are there. */
  lines: string[];
  /** How many lines of the patch are there. */
  patchLines: number;
}

const TOLD = new Set(["plan", "stopping", "description", "reasoning", "reason", "text"]);

/** Reads the beginning of a JSON reply. Null if it is none: then the text itself is worth showing. */
export function gist(text: string): Gist | null {
  const start = text.indexOf("{");
  if (start < 0 || start > 400 || (text.slice(0, start).trim() !== "" && !text.slice(0, start).includes("```"))) return null;
  const found: Gist = { lines: [], patchLines: 0 };
  let key = "";
  let at = start + 1;
  while (at < text.length) {
    const open = text.indexOf('"', at);
    if (open < 0) break;
    const { value, end, closed } = string(text, open);
    at = end;
    const colon = closed ? /^\s*:/.exec(text.slice(end, end + 20)) : null;
    if (colon !== null) {
      key = value;
      at = end + colon[0].length;
    } else if (TOLD.has(key)) {
      if (value.trim() !== "") found.lines.push(value);
    } else if (key === "patch") {
      found.patchLines += value === "" ? 0 : value.replace(/\n$/, "").split("\n").length;
    }
  }
  return found;
}

/** The string that begins with the quote at `open`, as far as it is there. */
function string(text: string, open: number): { value: string; end: number; closed: boolean } {
  let at = open + 1;
  while (at < text.length && text[at] !== '"') at += text[at] === "\\" ? 2 : 1;
  const closed = at < text.length;
  const whole = text.slice(open + 1, Math.min(at, text.length));
  const raw = closed ? whole : whole.replace(/\\(u[0-9a-fA-F]{0,3})?$/, "");
  return { value: unescape(raw), end: Math.min(at + 1, text.length), closed };
}

function unescape(raw: string): string {
  if (!raw.includes("\\")) return raw;
  try {
    return JSON.parse(`"${raw.replace(/[\u0000-\u001f]/g, " ")}"`) as string;
  } catch {
    return raw;
  }
}
