// Made by `npm run types` from docs/schema/{frames,messages}.schema.json; never edited.
// SHA-256 of the two, one after the other: 6d532c8893ac01da7616fa62c290dc601dfb1d8306eb71d9e5594f45c399b53f

/**
 * Everything that is told.
 */
export type Event = (Notice | RunEvent | Reply)
/**
 * Something worth showing.
 */
export type Notice = ({
type: "status"
/**
 * A sentence.
 */
message: string
} | {
type: "patch_ready"
/**
 * The candidate's whole change against the base.
 */
patch: string
/**
 * The turn.
 */
turn: number
} | {
type: "tests_output"
/**
 * Standard output.
 */
stdout: string
/**
 * Standard error.
 */
stderr: string
/**
 * The exit code; -1 when there is none.
 */
exitCode: number
check: CheckKind
receipt: Receipt
} | {
type: "review_ready"
review: Review
/**
 * The turn.
 */
turn: number
} | {
type: "moderator_decision"
decision: Decision
} | {
type: "arbiter_mode"
issue: ArbiterIssue
} | {
type: "arbiter_result"
result: ArbiterResult
} | {
type: "diagnostic_run"
/**
 * The commands as they were asked for.
 */
commands: string[]
} | {
type: "cycle_complete"
/**
 * Whether it was approved and has landed.
 */
success: boolean
/**
 * Why it ended.
 */
message: string
/**
 * The turns used.
 */
iterations: number
} | {
type: "error"
/**
 * What, and the next step.
 */
error: string
} | {
type: "turn_started"
/**
 * Its number, from 1.
 */
turn: number
/**
 * The limit.
 */
of: number
} | {
type: "builder_ready"
reply: BuilderReply
/**
 * The turn.
 */
turn: number
} | {
type: "verdict"
verdict: Verdict
/**
 * The findings it was computed from.
 */
findings: Finding[]
} | {
type: "outcome"
outcome: Outcome
})
/**
 * Why a command is run.
 */
export type CheckKind = ("baseline" | "tests" | "builder_run" | "diagnostic" | "arbiter" | "arbiter_base" | "merged" | "old_tests" | "broken_tests" | "broken_base" | "new_tests" | "reverted" | {
repeat: number
} | {
repeat_base: number
} | "example" | {
probe: number
} | {
probe_again: number
} | {
probe_base: number
} | "compare_base" | "compare" | {
mutant: number
} | {
compare_mutant: number
})
/**
 * Names a git tree: the hash of everything in it.
 */
export type TreeId = string
/**
 * How a process ended.
 */
export type Ended = ({
ended: "exited"
/**
 * The exit code.
 */
code: number
} | {
ended: "killed"
/**
 * The signal's number.
 */
signal: number
} | {
ended: "timed_out"
/**
 * The limit in seconds.
 */
limit_s: number
} | {
ended: "not_started"
/**
 * The operating system's reason.
 */
reason: string
})
/**
 * The checker's verdicts.
 */
export type ReviewVerdict = ("approve" | "request_changes" | "block")
/**
 * How bad a finding is.
 */
export type Severity = ("minor" | "major" | "critical")
/**
 * Kinds of findings.
 */
export type Category = ("bug" | "security" | "tests" | "style" | "edge_case" | "performance" | "architecture")
/**
 * Why a checker blocks.
 */
export type BlockReason = ("definite_bug" | "uncertainty" | "needs_human")
/**
 * The moderator's decisions.
 */
export type DecisionKind = ("accept_builder" | "accept_reviewer" | "reject_both")
/**
 * What an arbiter's test settles.
 */
export type ArbiterOutcome = ("bug_confirmed" | "bug_refuted" | "test_invalid")
/**
 * The three answers to a finding.
 */
export type AnswerKind = ("fixed" | "justified" | "disagree")
/**
 * What a verdict says.
 */
export type VerdictDecision = ("approved" | "objections" | "blocked")
/**
 * The gates, in the order in which they are judged: what costs nothing first.
 */
export type GateName = ("scope" | "protected" | "dependencies" | "secrets" | "existing_tests" | "assertions" | "suspicion" | "tests" | "baseline" | "red_green" | "old_tests" | "examples" | "probes" | "comparison" | "determinism" | "mutation" | "review" | "findings")
/**
 * How a gate came to its result.
 */
export type State = ("passed" | "absent" | "objected" | "answered" | "blocked" | "pending")
/**
 * Where a finding stands.
 */
export type Status = ({
status: "open"
} | {
status: "gone"
} | {
status: "confirmed"
/**
 * The test's files.
 */
tests: string[]
} | {
status: "refuted"
/**
 * The test's files.
 */
tests: string[]
} | {
status: "settled"
/**
 * Why.
 */
why: string
})
/**
 * The end of a cycle.
 */
export type Outcome = ({
outcome: "approved"
/**
 * The new commit, when landing by commit.
 */
commit: (CommitId | null)
/**
 * The files that changed in the user's tree.
 */
files: string[]
} | {
outcome: "applied"
/**
 * The files that changed in the user's tree.
 */
files: string[]
} | {
outcome: "not_approved"
stopped_by: StoppedBy
/**
 * What happened and what a person can do, in full sentences.
 */
reason: string
} | {
outcome: "error"
/**
 * What failed and the next step.
 */
message: string
})
/**
 * Names a git commit.
 */
export type CommitId = string
/**
 * The rules that end a run without an approval that landed.
 */
export type StoppedBy = ("max_iterations" | "oscillation" | "moderator" | "needs_human" | "goal_conflict" | "unusable_reply" | "landing_conflict" | "not_landed" | "not_applied" | "taken_back" | "budget" | "cancelled" | "dependency_failed")
/**
 * What happens in a run beside what the machine tells.
 */
export type RunEvent = ({
type: "run_started"
/**
 * What is wanted.
 */
request: string
/**
 * The root of the repository.
 */
workspace: string
/**
 * The most turns.
 */
of: number
/**
 * Who plays which role.
 */
agents: {
[k: string]: AgentName
}
/**
 * The command that runs the tests.
 */
test_command: string
budget: Limits
/**
 * Whether somebody is there to answer questions.
 */
attended: boolean
/**
 * The run that it goes on from.
 */
follows: (RunId | null)
/**
 * What commands could do on the machine although they should not.
 */
unconfined: string[]
} | {
type: "stream_chunk"
role: Role
/**
 * The text.
 */
chunk: string
/**
 * Whether the reply begins here; else it goes on from the chunk of the same role before.
 */
start: boolean
} | {
type: "part_started"
/**
 * Its name in the run.
 */
part: string
work: Work
} | {
type: "part_ended"
/**
 * Its name in the run.
 */
part: string
} | {
type: "agent_answered"
role: Role
purpose: Purpose
/**
 * The model, as the provider names it.
 */
model: string
usage: Usage
/**
 * Wall-clock time in milliseconds.
 */
duration_ms: number
total: Usage
/**
 * The requests to agents in this run so far, retries included.
 */
requests: number
} | {
type: "turn_judged"
/**
 * The turn.
 */
turn: number
verdict: Verdict
/**
 * The findings it was computed from.
 */
findings: Finding[]
} | {
type: "question_asked"
/**
 * The question's name; `answer` wants it.
 */
gate: string
question: Question
} | {
type: "question_answered"
/**
 * The question's name.
 */
gate: string
/**
 * Whether it was a yes.
 */
yes: boolean
/**
 * What else was said.
 */
text: string
} | {
type: "command_taken"
command: Command
} | {
type: "part_failed"
/**
 * Why, and the next step.
 */
message: string
})
/**
 * Names a run for as long as its journal exists.
 */
export type RunId = string
/**
 * Names a person's or an agent's part in a run, independent of the preset's display name.
 */
export type Role = ("builder" | "reviewer" | "moderator" | "examiner")
/**
 * What a part does.
 */
export type Work = ({
work: "prepare"
} | {
work: "read"
} | {
work: "call"
role: Role
purpose: Purpose
} | {
work: "apply"
} | {
work: "inspect"
} | {
work: "check"
check: CheckKind
/**
 * The command as it was written.
 */
command: string
} | {
work: "ask"
} | {
work: "land"
})
/**
 * What an agent is asked for.
 */
export type Purpose = ("build" | "arbiter_test" | "confirm_test" | "review" | "moderate" | "summarise" | "examine" | "judge_probe")
/**
 * A question to a person.
 */
export type Question = ({
question: "command"
role: Role
/**
 * The command as the agent wrote it.
 */
line: string
} | {
question: "patch"
/**
 * The change as a diff.
 */
diff: string
} | {
question: "land"
})
/**
 * What somebody outside can say at any time.
 */
export type Command = ({
command: "cancel"
/**
 * Why, for the record.
 */
reason: string
} | {
command: "retry"
} | {
command: "time_over"
} | {
command: "budget"
/**
 * Whose; `None` = the whole run's.
 */
role: (Role | null)
limits: Limits
} | {
command: "comment"
/**
 * What was said.
 */
text: string
/**
 * The file that it is about.
 */
path?: (string | null)
/**
 * The line of that file as the change leaves it, from 1.
 */
line?: (number | null)
} | {
command: "dispute"
/**
 * The finding's id.
 */
finding: string
/**
 * Why.
 */
text: string
} | {
command: "taken_back"
} | {
command: "land"
how: Landing
})
/**
 * Where an approved change goes.
 */
export type Landing = ("apply" | "commit")
/**
 * What answers messages, or is told to those who watch.
 */
export type Reply = ({
type: "hello"
/**
 * The version of the protocol.
 */
version: number
/**
 * The version of the program.
 */
program: string
/**
 * The workspaces, the connection's own first.
 */
workspaces: WorkspaceState[]
/**
 * How many runs go on at once, at most.
 */
runs_at_once: number
} | {
type: "accepted"
run: RunId
} | {
type: "subscribed"
run: RunId
/**
 * The number of the latest event so far.
 */
latest_seq: number
} | {
type: "done"
/**
 * What, in a sentence.
 */
message: string
} | {
type: "runs"
/**
 * The runs.
 */
runs: RunState[]
/**
 * Whether there are older ones.
 */
more: boolean
} | {
type: "run_changed"
state: RunState
} | {
type: "found"
/**
 * The runs, each with where the words are.
 */
hits: Hit[]
/**
 * Whether every run was looked through. Where there are thousands, the older ones are read in the course of time.
 */
whole: boolean
} | {
type: "workspaces"
/**
 * The workspaces, the connection's own first.
 */
workspaces: WorkspaceState[]
} | {
type: "file"
/**
 * Its path.
 */
path: string
side: Side
/**
 * Its text; null if there is no such file, or if it is no text.
 */
text: (string | null)
} | {
type: "configuration"
/**
 * The file's path.
 */
path: string
/**
 * Its text; null if there is no file.
 */
text: (string | null)
/**
 * Why it cannot be used; empty if it can.
 */
errors: string[]
/**
 * What is odd about it.
 */
warnings: string[]
/**
 * Every value, by its key, with where it comes from.
 */
values: ConfigurationValue[]
/**
 * Whether it was written.
 */
saved: boolean
})
/**
 * Where a run stands, in a word.
 */
export type Standing = ("queued" | "running" | "waiting" | "interrupted" | "approved" | "applied" | "not_approved" | "error")
/**
 * Before or after a change.
 */
export type Side = ("base" | "candidate")
/**
 * Names a task within its run.
 */
export type TaskId = string
/**
 * What a client sends: a text frame with one JSON object.
 */
export type Envelope = (Envelope1 & Envelope2)
export type Envelope1 = ({
type: "run_cycle"
/**
 * What is wanted.
 */
request: string
/**
 * The root of the workspace's repository; the connection's own without it.
 */
workspace?: (string | null)
/**
 * What sort of change it is, where that is known.
 */
kind?: (TaskKind | null)
/**
 * What happens to an approved change; without it what the configuration says, and else `ask` where somebody
 * attends and `apply` where nobody does.
 */
land?: (LandPolicy | null)
/**
 * Whether somebody is there to answer questions. Where nobody is, commands that need an answer are refused.
 */
attended?: boolean
/**
 * The run that this one goes on from: its request and its change are told to the builder.
 */
follows?: (RunId | null)
} | {
type: "apply_patch"
/**
 * The patch, a unified diff.
 */
patch: string
/**
 * The root of the workspace's repository; the connection's own without it.
 */
workspace?: (string | null)
} | {
type: "run_tests"
/**
 * The root of the workspace's repository; the connection's own without it.
 */
workspace?: (string | null)
} | {
type: "hello"
/**
 * The version of the protocol that the client was written for.
 */
version: number
} | {
type: "subscribe"
run: RunId
/**
 * The first event that is wanted; they count from 1.
 */
from_seq?: number
} | {
type: "unsubscribe"
run: RunId
} | {
type: "watch_runs"
} | {
type: "list_runs"
/**
 * Only those of this workspace.
 */
workspace?: (string | null)
/**
 * Only those that are older than this run.
 */
before?: (RunId | null)
/**
 * At most so many, and never more than 200; 50 without it.
 */
limit?: (number | null)
} | {
type: "search"
/**
 * Words; all of them must occur, the last one may be a beginning.
 */
query: string
/**
 * Only runs of this workspace.
 */
workspace?: (string | null)
} | {
type: "list_workspaces"
} | {
type: "open_workspace"
/**
 * The folder, an absolute path.
 */
path: string
} | {
type: "cancel"
run: RunId
/**
 * Why, for the record.
 */
reason?: string
} | {
type: "resume"
run: RunId
/**
 * New limits of the run's budget; those that are not named stay.
 */
budget?: (Limits | null)
} | {
type: "land"
run: RunId
how: Landing
} | {
type: "undo"
run: RunId
} | {
type: "answer"
run: RunId
/**
 * The question's name, from its event.
 */
gate: string
reply: AnswerWord
/**
 * What else there is to say; the builder reads it.
 */
text?: string
} | {
type: "comment"
run: RunId
/**
 * What there is to say.
 */
text: string
/**
 * The file that it is about.
 */
path?: (string | null)
/**
 * The line of the file as the change leaves it, from 1.
 */
line?: (number | null)
} | {
type: "dispute"
run: RunId
/**
 * The finding's id.
 */
finding: string
/**
 * Why.
 */
text: string
} | {
type: "read_file"
run: RunId
/**
 * Its path from the repository's root.
 */
path: string
side: Side
} | {
type: "get_configuration"
/**
 * The root of the workspace's repository; the connection's own without it.
 */
workspace?: (string | null)
} | {
type: "check_configuration"
/**
 * The root of the workspace's repository; the connection's own without it.
 */
workspace?: (string | null)
/**
 * The text of the file.
 */
text: string
} | {
type: "save_configuration"
/**
 * The root of the workspace's repository; the connection's own without it.
 */
workspace?: (string | null)
/**
 * The text of the file.
 */
text: string
/**
 * The text that it replaces, as `configuration` told it; if the file says something else, nothing is written.
 * Null for a file that does not exist.
 */
replaces?: (string | null)
})
/**
 * Sorts of changes.
 */
export type TaskKind = ("feature" | "bugfix" | "refactor" | "docs" | "tests" | "chore")
/**
 * What happens to an approved change.
 */
export type LandPolicy = ("apply" | "commit" | "ask")
/**
 * An answer in a word.
 */
export type AnswerWord = ("yes" | "always" | "no")

export interface Protocol {
frame?: Frame
envelope?: Envelope
}
/**
 * What the daemon sends: a text frame with one JSON object.
 */
export interface Frame {
event: Event
/**
 * The run that it happened in.
 */
run?: (RunId | null)
/**
 * The task that it happened in.
 */
task?: (TaskId | null)
/**
 * The event's number in its run, from 1, the same whenever it is told. A `stream_chunk` has the number of the event
 * before it.
 */
seq?: (number | null)
/**
 * When, RFC 3339 in UTC.
 */
at: string
/**
 * The message that this answers, by the client's own number.
 */
re?: (number | null)
}
/**
 * Facts about one run of one command on one tree.
 */
export interface Receipt {
tree: TreeId
/**
 * The tree that the command saw, where something was laid over the other.
 */
saw?: (TreeId | null)
/**
 * The seed of what was varied.
 */
seed?: (number | null)
/**
 * The command, as it was started.
 */
argv: string[]
/**
 * Whether `argv` is `sh -c LINE` because the user's own line has shell operators.
 */
shell: boolean
/**
 * Whether the command starts something of the repository (a script, a Makefile, a package script), rather than
 * a program such as `true` that would end well in any directory.
 */
of_repository: boolean
ended: Ended
/**
 * The counts, where a report was recognised in its output.
 */
report: (TestReport | null)
stdout: Output
stderr: Output
/**
 * Wall-clock time in milliseconds.
 */
duration_ms: number
/**
 * Whether it was not run for this, because it had run on the same tree under the same conditions before.
 */
cached?: boolean
}
/**
 * The counts that a test runner reported.
 */
export interface TestReport {
/**
 * Which report was recognised: `pytest`, `unittest`, `cargo`, `nextest`, `jest`, `vitest`, `node`, `go`, `tap`, `junit`.
 */
runner: string
/**
 * Tests that passed.
 */
passed: number
/**
 * Tests that ran and failed.
 */
failed: number
/**
 * Tests or files that could not be loaded or set up.
 */
errors: number
/**
 * Tests that were skipped or ignored.
 */
skipped: number
/**
 * Names of the failed tests and of what could not be loaded, as the runner prints them.
 */
failing: string[]
/**
 * Tests that the runner itself saw fail and then pass.
 */
flaky: string[]
}
/**
 * The head and tail of a stream, with what was left out between them.
 */
export interface Output {
/**
 * What was kept, as text; bytes that are not UTF-8 are replaced. Where something was left out, one line says how much.
 */
text: string
/**
 * How many bytes the process wrote in all.
 */
bytes: number
/**
 * SHA-256 over every byte written, as 64 hexadecimal digits.
 */
sha256: string
}
/**
 * The checker's reply.
 */
export interface Review {
verdict: ReviewVerdict
/**
 * Its findings; the wire calls them issues.
 */
issues: Issue[]
/**
 * A proposal for the maker; never applied on the checker's word.
 */
suggested_patch?: (string | null)
/**
 * Tests it misses.
 */
extra_tests: string[]
/**
 * Why to stop or to go on.
 */
stopping: string
/**
 * Why it blocks.
 */
block_reason?: (BlockReason | null)
/**
 * Commands whose output would settle its uncertainty.
 */
diagnostics_needed: string[]
}
/**
 * One finding as the checker words it.
 */
export interface Issue {
severity: Severity
/**
 * What is wrong.
 */
description: string
/**
 * How to reproduce it; without one the finding is an objection only.
 */
how_to_verify?: (string | null)
/**
 * The checker's name for it; the same issue keeps its name across reviews.
 */
issue_id?: (string | null)
/**
 * Whether the checker is unsure of it, in its words.
 */
uncertainty?: (string | null)
/**
 * What kind of thing it is; strictness decides which kinds may block.
 */
category?: (Category | null)
}
/**
 * The moderator's reply.
 */
export interface Decision {
decision: DecisionKind
/**
 * Why.
 */
reasoning: string
}
/**
 * A stuck issue as clients read it.
 */
export interface ArbiterIssue {
/**
 * The finding's id.
 */
issue_id: string
severity: Severity
/**
 * What is wrong.
 */
description: string
/**
 * How to reproduce it.
 */
how_to_verify: (string | null)
}
/**
 * What an arbiter's test showed.
 */
export interface ArbiterResult {
/**
 * Whether a test was written and placed.
 */
test_added: boolean
/**
 * The test.
 */
test_patch?: (string | null)
/**
 * Whether it is green on the candidate, if it ran.
 */
test_passed?: (boolean | null)
outcome: ArbiterOutcome
/**
 * Why, in a sentence.
 */
explanation: string
}
/**
 * The maker's reply. Every statement in it is a claim.
 */
export interface BuilderReply {
/**
 * Files the maker wants to read first; then nothing else is needed.
 */
files_needed: string[]
/**
 * What it did, step by step.
 */
plan: string[]
/**
 * A patch in a form that [`crate::patch`] reads; empty when there is none.
 */
patch: string
/**
 * The tests it wrote, in words.
 */
tests: string[]
/**
 * Commands it would like to have run.
 */
run: string[]
/**
 * What it is unsure of.
 */
risks: string[]
/**
 * Its answers to findings and objections.
 */
answers: FindingAnswer[]
/**
 * The legal exit: the goal and the tests contradict each other.
 */
conflict: (GoalConflict | null)
}
/**
 * The maker's answer to one finding.
 */
export interface FindingAnswer {
/**
 * The finding's id.
 */
to: string
answer: AnswerKind
/**
 * In its words.
 */
text: string
}
/**
 * Why the goal cannot be reached honestly.
 */
export interface GoalConflict {
/**
 * The contradiction.
 */
reason: string
/**
 * Where it can be seen.
 */
evidence: string
}
/**
 * The judgement of a case.
 */
export interface Verdict {
decision: VerdictDecision
/**
 * Every gate with its result, in the order in which they are judged.
 */
gates: Gate[]
/**
 * What the goal asks for, and what shows it.
 */
criteria?: Criterion[]
}
/**
 * One gate of a verdict.
 */
export interface Gate {
gate: GateName
/**
 * Whether it lets the change through.
 */
passed: boolean
state: State
/**
 * What was seen, in full sentences; where it does not let the change through, with what would change that.
 */
message: string
/**
 * What it wants mended or answered.
 */
objections?: Objection[]
cost: Cost
}
/**
 * Something that the maker has to mend or to answer.
 */
export interface Objection {
/**
 * Its name, which an answer gives.
 */
id: string
/**
 * What is objected to, in full sentences.
 */
text: string
/**
 * The maker's answer, once it gave one that is none.
 */
answer: (string | null)
}
/**
 * What a gate cost.
 */
export interface Cost {
/**
 * Commands.
 */
runs: number
/**
 * Their time in milliseconds.
 */
ms: number
}
/**
 * One thing that the goal asks for.
 */
export interface Criterion {
/**
 * What it is, in the words of the goal or of who wrote its probes.
 */
text: string
/**
 * The names of what shows whether it holds: probes, or tests that are red without the change.
 */
shown_by: string[]
/**
 * Whether it holds; `None` if nothing shows it.
 */
holds: (boolean | null)
}
/**
 * A finding and its history.
 */
export interface Finding {
/**
 * Its name in this run; the checker's own where it gave one.
 */
id: string
issue: Issue
status: Status
/**
 * The numbers of the reviews that raised it, from 1.
 */
reviews: number[]
/**
 * The turns in which it was raised.
 */
turns: number[]
/**
 * What the maker said to it.
 */
answers: FindingAnswer[]
/**
 * Whether an arbiter's test was asked for already.
 */
arbitrated: boolean
}
/**
 * An agent by its provider and model.
 */
export interface AgentName {
/**
 * The provider.
 */
provider: string
/**
 * The model.
 */
model: string
}
/**
 * The most that something may use; `None` = no limit.
 */
export interface Limits {
/**
 * Requests to agents, retries included.
 */
calls?: (number | null)
/**
 * Tokens sent and received.
 */
tokens?: (number | null)
/**
 * Money in millionths of a US dollar.
 */
cost_micro_usd?: (number | null)
/**
 * Minutes: of a run those in which it was driven, of a role those in which it was waited for.
 */
minutes?: (number | null)
}
/**
 * What calls cost. Counts are the provider's own.
 */
export interface Usage {
/**
 * Tokens sent, cached ones included.
 */
input_tokens: number
/**
 * Tokens of those that came from the provider's cache.
 */
cached_tokens: number
/**
 * Tokens received, those of reasoning included.
 */
output_tokens: number
/**
 * Tokens of those that the model spent on reasoning. Journals of earlier versions do not have it.
 */
reasoning_tokens: number
/**
 * The price in millionths of a US dollar, where a price is known.
 */
cost_micro_usd: (number | null)
}
/**
 * A workspace.
 */
export interface WorkspaceState {
/**
 * The root of its repository.
 */
root: string
/**
 * What people call it.
 */
name: string
/**
 * The branch, if one is checked out.
 */
branch: (string | null)
/**
 * Why it cannot be used; null if it can.
 */
problem: (string | null)
}
/**
 * Where a run stands.
 */
export interface RunState {
run: RunId
/**
 * The root of its repository.
 */
workspace: string
/**
 * What is wanted.
 */
request: string
standing: Standing
/**
 * The rule that ended it without an approval.
 */
stopped_by: (StoppedBy | null)
/**
 * How it ended, in a sentence or more; empty before.
 */
message: string
/**
 * The turn.
 */
turn: number
/**
 * The most turns.
 */
of: number
/**
 * When it began, RFC 3339.
 */
began: string
/**
 * When something happened last, RFC 3339.
 */
changed: string
usage: Usage
/**
 * The requests to agents, retries included.
 */
requests: number
/**
 * The paths that its change touches.
 */
files: string[]
/**
 * Whether its change is in the user's tree.
 */
landed: boolean
/**
 * The run that it goes on from.
 */
follows: (RunId | null)
}
/**
 * A run that a search found.
 */
export interface Hit {
state: RunState
/**
 * The words around what was found; what was searched for stands between U+0001 and U+0002.
 */
excerpt: string
}
/**
 * A value of a configuration.
 */
export interface ConfigurationValue {
/**
 * The key; those in objects have a dot before their name.
 */
key: string
/**
 * The value as JSON.
 */
value: string
/**
 * Where it comes from.
 */
from: string
}
export interface Envelope2 {
/**
 * A number of the client's own; the frame that answers carries it as `re`.
 */
id?: (number | null)
}
