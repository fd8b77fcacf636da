// Characters that a terminal or a browser would act on instead of showing: control characters except for the line break
// and the tab, what turns the direction of text, and what has no width.
const HIDDEN =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/u;
const EACH = new RegExp(HIDDEN.source, "gu");

/** Text of agents and programs, with everything that would act instead of being shown written out, such as `\u{202e}`. */
export function visible(text: string): string {
  if (!HIDDEN.test(text)) return text;
  return text
    .replaceAll("\r\n", "\n")
    .replace(EACH, (one) => (one === "\u001b" ? "\\e" : one === "\r" ? "\\r" : `\\u{${(one.codePointAt(0) as number).toString(16)}}`));
}
