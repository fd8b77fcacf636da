/** What can be told of a reply while it arrives. */
export interface Gist {
  /** Sentences of its plan, findings and reasons, as far as they are there. */
  lines: string[];
  /** How many lines of the patch are there. */
  patchLines: number;
}

const TOLD = new Set(["plan", "stopping", "description", "reasoning", "reason", "text"]);
/** A reply that has not begun after so many characters is none. */
const PREFACE = 400;

/** Reads the beginning of a JSON reply, and goes on where it was as more of it arrives. */
export class GistReader {
  private readonly gist: Gist = { lines: [], patchLines: 0 };
  private at = 0;
  private begun = false;
  /** The objects and lists that are open, as `{` and `[`. */
  private readonly open: string[] = [];
  private isKey = false;
  private key = "";
  private inString = false;
  /** Whether nothing was told yet of the string that is open, or of its line in a patch. */
  private fresh = true;

  /** What the whole text so far tells. Null if it is no reply: then the text itself is worth showing. */
  read(text: string): Gist | null {
    if (!this.begun && !this.begin(text)) return null;
    while (this.at < text.length) {
      if (!this.inString) this.step(text[this.at++] as string);
      else if (!this.piece(text)) break;
    }
    return this.gist;
  }

  private begin(text: string): boolean {
    const start = text.slice(0, PREFACE + 1).indexOf("{");
    const preface = text.slice(0, Math.max(start, 0));
    if (start < 0 || (preface.trim() !== "" && !preface.includes("```"))) return false;
    this.begun = true;
    this.at = start;
    return true;
  }

  /** Takes a character outside of strings. */
  private step(character: string): void {
    if (this.open.length === 0 && character !== "{") return;
    if (character === '"') {
      this.inString = true;
      this.fresh = true;
      if (this.isKey) this.key = "";
    } else if (character === "{" || character === "[") this.open.push(character);
    else if (character === "}" || character === "]") this.open.pop();
    if (character === "{" || character === ",") this.isKey = this.open.at(-1) === "{";
    else if (character === ":" || character === "[") this.isKey = false;
  }

  /** Takes what is there of the string that is open, up to its end. False if more has to arrive first. */
  private piece(text: string): boolean {
    let end = this.at;
    while (end < text.length && text[end] !== '"') {
      const length = text[end] !== "\\" ? 1 : text[end + 1] === "u" ? 6 : 2;
      if (end + length > text.length) break;
      end += length;
    }
    if (end > this.at) this.told(unescape(text.slice(this.at, end)));
    this.at = end;
    if (text[end] !== '"') return false;
    this.at++;
    this.inString = false;
    return true;
  }

  private told(piece: string): void {
    if (this.isKey) {
      this.key += piece;
    } else if (TOLD.has(this.key)) {
      const said = this.fresh ? "" : this.gist.lines.pop();
      if (said !== "" || piece.trim() !== "") {
        this.gist.lines.push(said + piece);
        this.fresh = false;
      }
    } else if (this.key === "patch") {
      this.counted(piece);
    }
  }

  private counted(piece: string): void {
    for (const [index, line] of piece.split("\n").entries()) {
      // A line break that nothing stands before ends an empty line.
      if (index > 0 && this.fresh) this.gist.patchLines++;
      if (index > 0) this.fresh = true;
      if (line === "" || !this.fresh) continue;
      this.gist.patchLines++;
      this.fresh = false;
    }
  }
}

function unescape(raw: string): string {
  if (!raw.includes("\\")) return raw;
  try {
    return JSON.parse(`"${raw.replace(/[\u0000-\u001f]/g, " ")}"`) as string;
  } catch {
    return raw;
  }
}
