import { accessSync, constants, statSync } from "node:fs";
import { delimiter, join } from "node:path";
import type { Environment } from "./place.ts";

export const NAME = "checkmate";

/** Says where the program may be, in the order in which it is looked for. */
export function candidates(set: string, environment: Environment): string[] {
  const home = environment.HOME;
  if (set.trim() !== "") {
    const path = set.trim();
    return [path.startsWith("~/") && home !== undefined ? join(home, path.slice(2)) : path];
  }
  // A relative folder in PATH would mean another program in every workspace.
  const folders = (environment.PATH ?? "").split(delimiter).filter((folder) => folder.startsWith("/"));
  if (home !== undefined) folders.push(join(home, ".cargo", "bin"));
  return [...new Set(folders)].map((folder) => join(folder, NAME));
}

/** Returns the first one that can be run; null if there is none. */
export function findBinary(set: string, environment: Environment, runs = isProgram): string | null {
  return candidates(set, environment).find((path) => path.startsWith("/") && runs(path)) ?? null;
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
