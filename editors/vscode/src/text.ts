/** Makes text of agents safe to show: what has no width or turns the direction of writing is spelled out or left out. */
export function visible(text: string): string {
  return text
    .replace(/\r\n?/g, "\n")
    .replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, "")
    .replace(/[\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g, (sign) => `\\u${sign.charCodeAt(0).toString(16)}`);
}

/** The same in one line of at most so many characters. */
export function inLine(text: string, most = 120): string {
  const line = visible(text).replace(/\s+/g, " ").trim();
  const signs = [...line];
  return signs.length <= most ? line : `${signs.slice(0, most - 1).join("")}…`;
}

/** In a notification, `[words](address)` would be a link that an agent makes up. */
export function inNotification(text: string, most = 200): string {
  return inLine(text, most).replace(/\]\(/g, "] (");
}

/**
 * What cannot be seen for what it is: controls, what has no width, every space but the usual one, and what is written from
 * right to left, which turns the order of its neighbours too.
 */
const UNSEEN =
  /[\p{C}\p{Default_Ignorable_Code_Point}\u2800]|(?! )\p{Z}|[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/gu;
const NAMED: Record<string, string> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

/** Spells out what cannot be seen, and leaves nothing out. */
export function spelledOut(text: string): string {
  return text.replace(UNSEEN, (sign) => NAMED[sign] ?? `\\u{${sign.codePointAt(0)?.toString(16)}}`);
}

/** Breaks a line into pieces of at most so many characters, at spaces where it can. Together they are the line. */
export function folded(line: string, width: number): string[] {
  return line.match(new RegExp(`.{1,${width - 1}}(?: |$)|.{1,${width}}`, "gsu")) ?? [""];
}

/** Icons in `$(name)` are for our own words only. */
export function withoutIcons(text: string): string {
  return text.replace(/\$\(/g, "$ (");
}

/** Money in US dollars. */
export function dollars(micro: number | null): string {
  if (micro === null) return "";
  const amount = micro / 1e6;
  return `$${amount < 0.01 && amount > 0 ? amount.toFixed(4) : amount.toFixed(2)}`;
}
