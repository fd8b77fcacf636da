/** A piece of a journal without what JSON wraps around its words, for reading in a line or two. */
export function plain(text: string): string {
  // A piece that is no JSON stays as it is: prose has quotes and braces of its own.
  if (!/"\s*:\s*["[{\d]|"\s*,\s*"|[[{]\s*"/.test(text)) return text;
  return text
    .replace(/"[\w\u0001\u0002]+"\s*:\s*/g, "")
    .replace(/[[\]{},\s]*(?:(?<!\\)"[[\]{},\s]*)+/g, " · ")
    .replace(/^[ ·]+|[ ·]+$/g, "")
    .replace(/\\[nrt]|\s+/g, " ")
    .replace(/\\(["\\/])/g, "$1");
}
