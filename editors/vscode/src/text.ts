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
