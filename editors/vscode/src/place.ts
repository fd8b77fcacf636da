import { readFileSync } from "node:fs";
import { join } from "node:path";

/** The port where the daemon listens unless it is told otherwise. */
export const USUAL_PORT = 9876;

export type Environment = Record<string, string | undefined>;

/** Where a daemon is looked for. */
export interface Place {
  port: number;
  /** What people read. */
  address: string;
  /** What lets clients in; null if there is none yet. */
  token: string | null;
  /** Whether the port is the user's own daemon's: they said so, or their daemon did. */
  known: boolean;
}

/** Returns the folder where the daemon notes its port and its token. */
export function daemonFolder(environment: Environment): string | null {
  const absolute = (name: string) => (environment[name]?.startsWith("/") ? environment[name] : undefined);
  const home = absolute("HOME");
  const state = absolute("XDG_STATE_HOME") ?? (home === undefined ? undefined : join(home, ".local", "state"));
  return state === undefined ? null : join(state, "checkmate", "daemon");
}

/**
 * Finds the daemon: at the port that was set, else where a daemon of this user noted that it listens.
 *
 * The token is shown to nobody else. Any program of this machine may listen on the usual port, another user's too; only
 * the user's own daemon can write the note.
 */
export function findDaemon(environment: Environment, set: number | undefined, alive = isAlive): Place {
  const folder = daemonFolder(environment);
  const note = folder === null ? null : noteOf(read(join(folder, "daemon.json")));
  const noted = note !== null && alive(note.pid) ? note.port : undefined;
  const port = set ?? noted ?? USUAL_PORT;
  const token = folder === null ? null : tokenOf(read(join(folder, "token")));
  return { port, address: `ws://localhost:${port}`, token, known: set !== undefined || noted === port };
}

/** Reads the daemon's note. */
export function noteOf(text: string | null): { pid: number; port: number } | null {
  try {
    const note: unknown = JSON.parse(text ?? "");
    if (typeof note !== "object" || note === null) return null;
    const { pid, port } = note as Record<string, unknown>;
    const whole = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) > 0;
    return whole(pid) && whole(port) && port < 65536 ? { pid, port } : null;
  } catch {
    return null;
  }
}

/** Reads a token; null for anything that could break out of a header. */
export function tokenOf(text: string | null): string | null {
  const token = text?.trim() ?? "";
  return /^[A-Za-z0-9]{32,}$/.test(token) ? token : null;
}

function read(path: string): string | null {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return null;
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    // Somebody else's process is alive, but no daemon of this user.
    return false;
  }
}
