import { spawn } from "node:child_process";
import { closeSync, mkdirSync, openSync, readFileSync, statSync } from "node:fs";
import { get } from "node:http";
import { dirname } from "node:path";

/** Who answers at a port. */
export type Health = "checkmate" | "somebody else" | "nobody";

/** Asks who listens at a port of this machine. */
export function health(port: number): Promise<Health> {
  return new Promise((keep) => {
    const request = get({ host: "127.0.0.1", port, path: "/healthz", timeout: 2000, agent: false }, (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (piece: string) => {
        text += piece;
        if (text.length > 10_000) request.destroy();
      });
      response.on("end", () => keep(isCheckmate(text) ? "checkmate" : "somebody else"));
      response.on("error", () => keep("somebody else"));
    });
    request.on("timeout", () => request.destroy());
    request.on("error", (error: NodeJS.ErrnoException) => {
      keep(error.code === "ECONNREFUSED" ? "nobody" : "somebody else");
    });
  });
}

function isCheckmate(text: string): boolean {
  try {
    return (JSON.parse(text) as { program?: unknown }).program === "checkmate";
  } catch {
    return false;
  }
}

export interface Start {
  binary: string;
  port: number;
  /** Folders of the workspaces. */
  folders: string[];
  /** The home folder: where a daemon without workspaces starts. */
  home: string;
  /** Where what it says is written. */
  log: string;
}

const PATIENCE_MS = 20_000;

/** Starts the daemon and waits until it answers. It outlives the window. The result is why it does not; null if it does. */
export async function startDaemon({ binary, port, folders, home, log }: Start): Promise<string | null> {
  mkdirSync(dirname(log), { recursive: true });
  const output = openSync(log, "a", 0o600);
  const before = statSync(log).size;
  const workspaces = folders.flatMap((folder) => ["--workspace", folder]);
  let failure: string | null = null;
  let ended = false;
  try {
    const child = spawn(binary, ["serve", "--port", String(port), ...workspaces], {
      cwd: folders[0] ?? home,
      detached: true,
      stdio: ["ignore", output, output],
    });
    child.on("error", (error) => {
      failure = error.message;
      ended = true;
    });
    child.on("exit", () => void (ended = true));
    child.unref();
  } finally {
    closeSync(output);
  }
  const until = Date.now() + PATIENCE_MS;
  while (Date.now() < until && !ended) {
    if ((await health(port)) === "checkmate") return null;
    await new Promise((keep) => setTimeout(keep, 100));
  }
  // Another window was quicker.
  if ((await health(port)) === "checkmate") return null;
  const said = readFileSync(log).subarray(before).toString("utf8").trim().split("\n").slice(-3).join(" ");
  return failure ?? (said === "" ? `It does not answer on port ${port}.` : said);
}
