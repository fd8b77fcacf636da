/** A line of a file that a text names. */
export interface Spot {
  /** From the repository's root. */
  path: string;
  /** From 1. */
  line: number;
}

// A path may stand in quotes or backticks; its end is told by what follows. It begins where no path goes on, which also
// keeps the search linear.
const PATH = String.raw`(?<![\w@+./~-])(?<path>[\w@+./~-]*[\w@+-])`;
const QUOTE = "[`'\"]?";
const FORMS = [
  // src/math.ts:21, src/math.ts:21:5, src/math.ts#L21
  String.raw`${PATH}${QUOTE}(?::|#L?)(?<line>\d+)`,
  // src/math.ts(21)
  String.raw`${PATH}${QUOTE}\((?<line>\d+)(?:,\s*\d+)?\)`,
  // src/math.ts, line 21; src/math.ts at lines 21-23
  String.raw`${PATH}${QUOTE},?\s+(?:(?:on|at|in)\s+)?(?:lines?|l\.)\s*(?<line>\d+)`,
  // line 21 of src/math.ts
  String.raw`\blines?\s+(?<line>\d+)(?:\s*[-–]\s*\d+)?\s+(?:of|in)\s+${QUOTE}${PATH}`,
].map((form) => new RegExp(form, "giu"));

const MOST = 20;

/** Finds the lines that a text names, in the order of the text. `known` turns what may be a path into one of the repository. */
export function locate(text: string, known: (mention: string) => string | null): Spot[] {
  const found: (Spot & { at: number })[] = [];
  for (const form of FORMS) {
    for (const match of text.slice(0, 20_000).matchAll(form)) {
      const path = known(match.groups?.path ?? "");
      const line = Number(match.groups?.line);
      if (path === null || !Number.isSafeInteger(line) || line < 1) continue;
      if (found.some((spot) => spot.path === path && spot.line === line)) continue;
      found.push({ path, line, at: match.index });
      if (found.length >= MOST) break;
    }
  }
  return found.sort((one, other) => one.at - other.at).map(({ path, line }) => ({ path, line }));
}

/**
 * Finds the file of the repository that a mention means: a path from the root, or the end of exactly one path of the
 * change. `exists` tells whether the workspace has a file.
 */
export function fileOf(mention: string, changed: string[], exists: (path: string) => boolean): string | null {
  const path = mention.replace(/^\.\//, "");
  if (path === "" || path.length > 1000) return null;
  // Diffs write a/ and b/ before a path.
  return named(path, changed, exists) ?? (/^[ab]\/./.test(path) ? named(path.slice(2), changed, exists) : null);
}

function named(path: string, changed: string[], exists: (path: string) => boolean): string | null {
  if (changed.includes(path)) return path;
  const isInside = !path.startsWith("/") && !path.startsWith("~") && !path.split("/").includes("..");
  if (isInside && exists(path)) return path;
  // A whole path of the run's own tree, or the bare name of a file.
  const ends = changed.filter((file) => path.endsWith(`/${file}`) || file.endsWith(`/${path}`));
  return ends.length === 1 ? (ends[0] ?? null) : null;
}
