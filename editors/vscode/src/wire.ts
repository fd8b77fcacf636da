/** The part of the daemon's protocol that the extension itself speaks; docs/schema has all of it. */

export const VERSION = 1;

export type Side = "base" | "candidate";
export type AnswerWord = "yes" | "always" | "no";
export type Severity = "minor" | "major" | "critical";
export type Standing =
  | "queued"
  | "running"
  | "waiting"
  | "interrupted"
  | "approved"
  | "applied"
  | "not_approved"
  | "error";

/** What the extension sends. */
export type Message =
  | { type: "hello"; version: number }
  | { type: "watch_runs" }
  | { type: "open_workspace"; path: string }
  | { type: "list_runs"; workspace?: string; limit?: number }
  | { type: "search"; query: string; workspace?: string }
  | { type: "subscribe"; run: string; from_seq: number }
  | { type: "unsubscribe"; run: string }
  | { type: "run_cycle"; request: string; workspace: string; attended: boolean; follows?: string }
  | { type: "run_tests"; workspace: string }
  | { type: "cancel"; run: string; reason: string }
  | { type: "resume"; run: string; budget?: Limits }
  | { type: "land"; run: string; how: "apply" | "commit" }
  | { type: "undo"; run: string }
  | { type: "answer"; run: string; gate: string; reply: AnswerWord }
  | { type: "comment"; run: string; text: string; path?: string; line?: number }
  | { type: "dispute"; run: string; finding: string; text: string }
  | { type: "read_file"; run: string; path: string; side: Side }
  | { type: "get_configuration"; workspace: string };

/** The most that a run may use; what is missing or null has no limit. */
export interface Limits {
  calls?: number | null;
  tokens?: number | null;
  cost_micro_usd?: number | null;
  minutes?: number | null;
}

export interface Issue {
  severity: Severity;
  description: string;
  how_to_verify?: string | null;
  issue_id?: string | null;
}

export interface Finding {
  id: string;
  issue: Issue;
  status: { status: "open" | "gone" | "confirmed" | "refuted" | "settled" };
}

export interface Gate {
  gate: string;
  state: string;
  passed: boolean;
  message: string;
}

export interface Verdict {
  decision: "approved" | "objections" | "blocked";
  gates: Gate[];
  criteria?: { text: string; holds: boolean | null }[];
}

export type Question =
  | { question: "command"; role: string; line: string }
  | { question: "patch"; diff: string }
  | { question: "land" };

export interface WorkspaceState {
  root: string;
  name: string;
  problem: string | null;
}

export interface RunState {
  run: string;
  workspace: string;
  request: string;
  standing: Standing;
  /** The rule that ended it without an approval. Newer daemons may know more of them. */
  stopped_by?: string | null;
  message: string;
  turn: number;
  of: number;
  began: string;
  usage: { cost_micro_usd: number | null };
  files: string[];
  landed: boolean;
}

/** What the extension reads; frames with other events are passed over. */
export type Event =
  | { type: "hello"; program: string; workspaces: WorkspaceState[] }
  | { type: "workspaces"; workspaces: WorkspaceState[] }
  | { type: "accepted"; run: string }
  | { type: "subscribed"; run: string; latest_seq: number }
  | { type: "done"; message: string }
  | { type: "error"; error: string }
  | { type: "runs"; runs: RunState[] }
  | { type: "found"; hits: { state: RunState; excerpt: string }[]; whole?: boolean }
  | { type: "run_changed"; state: RunState }
  | { type: "file"; path: string; side: Side; text: string | null }
  | { type: "configuration"; path: string; text: string | null; errors: string[] }
  | { type: "tests_output"; stdout: string; stderr: string; exitCode: number }
  | { type: "run_started"; budget: Limits }
  | { type: "patch_ready"; patch: string; turn: number }
  | { type: "review_ready"; review: { issues: Issue[] }; turn: number }
  | { type: "arbiter_mode"; issue: { issue_id: string } }
  | { type: "arbiter_result"; result: { outcome: "bug_confirmed" | "bug_refuted" | "test_invalid" } }
  | { type: "turn_judged"; turn: number; verdict: Verdict; findings: Finding[] }
  | { type: "verdict"; verdict: Verdict; findings: Finding[] }
  | { type: "question_asked"; gate: string; question: Question }
  | { type: "question_answered"; gate: string; yes: boolean }
  | { type: "outcome"; outcome: { outcome: "approved" | "not_approved" | "error" } };

/** There was no answer: the connection was lost, before or after the message was sent. */
export interface Lost {
  type: "lost";
  /** Whether it was sent, so that it may have been done. */
  sent: boolean;
}

export type Answer = Event | Lost;

export interface Frame {
  event: Event | { type: "other" };
  run?: string | undefined;
  seq?: number | undefined;
  re?: number | undefined;
}

type Kind = "string" | "number" | "boolean" | "object" | "list" | "text or null";

/** The fields that each event has to have for the extension; a test holds them against the protocol's schema. */
export const FIELDS: { [T in Event["type"]]: Record<string, Kind> } = {
  hello: { program: "string", workspaces: "list" },
  workspaces: { workspaces: "list" },
  accepted: { run: "string" },
  subscribed: { run: "string", latest_seq: "number" },
  done: { message: "string" },
  error: { error: "string" },
  runs: { runs: "list" },
  found: { hits: "list" },
  run_changed: { state: "object" },
  file: { path: "string", side: "string", text: "text or null" },
  configuration: { path: "string", text: "text or null", errors: "list" },
  tests_output: { stdout: "string", stderr: "string", exitCode: "number" },
  run_started: { budget: "object" },
  patch_ready: { patch: "string", turn: "number" },
  review_ready: { review: "object", turn: "number" },
  arbiter_mode: { issue: "object" },
  arbiter_result: { result: "object" },
  turn_judged: { turn: "number", verdict: "object", findings: "list" },
  verdict: { verdict: "object", findings: "list" },
  question_asked: { gate: "string", question: "object" },
  question_answered: { gate: "string", yes: "boolean" },
  outcome: { outcome: "object" },
};

/** Reads a text frame; null if it is none of the protocol. */
export function frameOf(text: string): Frame | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  if (!isObject(value) || !isObject(value.event) || typeof value.event.type !== "string") return null;
  const { run, seq, re } = value;
  return {
    event: eventOf(value.event),
    run: typeof run === "string" ? run : undefined,
    seq: typeof seq === "number" ? seq : undefined,
    re: typeof re === "number" ? re : undefined,
  };
}

function eventOf(event: Record<string, unknown>): Event | { type: "other" } {
  const fields = Object.hasOwn(FIELDS, String(event.type)) ? FIELDS[event.type as Event["type"]] : undefined;
  if (fields === undefined) return { type: "other" };
  const fits = Object.entries(fields).every(([name, kind]) => is(event[name], kind));
  return fits ? (event as unknown as Event) : { type: "other" };
}

function is(value: unknown, kind: Kind): boolean {
  switch (kind) {
    case "list":
      return Array.isArray(value);
    case "object":
      return isObject(value);
    case "text or null":
      return value === null || typeof value === "string";
    case "string":
    case "number":
    case "boolean":
      return typeof value === kind;
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
