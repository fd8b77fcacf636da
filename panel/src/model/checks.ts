import type { CheckKind, Ended, EventOf, GateName, Purpose, Role, Work } from "../wire/protocol.ts";

/** Checks that are messages of their own; the others are lines of evidence. */
export function isMainCheck(check: CheckKind): boolean {
  return ["baseline", "tests", "merged", "builder_run", "diagnostic"].includes(check as string);
}

const CHECKS: Record<string, string> = {
  baseline: "Baseline",
  tests: "Tests",
  builder_run: "Asked for by the builder",
  diagnostic: "Asked for by the reviewer",
  arbiter: "The arbiter's test on the change",
  arbiter_base: "The arbiter's test before the change",
  merged: "Tests after the merge",
  old_tests: "Old tests on the new code",
  broken_tests: "Broken tests on the new code",
  broken_base: "Broken tests on the old code",
  new_tests: "New tests on the old code",
  reverted: "Tests with the change taken back",
  example: "Examples",
  compare: "Calls on the change",
  compare_base: "Calls before the change",
};

const NUMBERED: Record<string, string> = {
  repeat: "Once more, seed",
  repeat_base: "Before the change, seed",
  probe: "Probe",
  probe_again: "Once more, probe",
  probe_base: "Before the change, probe",
  mutant: "Mutant",
};

/** What a check is called. */
export function checkTitle(check: CheckKind): string {
  if (typeof check === "string") return CHECKS[check] ?? check.replaceAll("_", " ");
  const [name, number] = Object.entries(check)[0] ?? ["check", ""];
  return `${NUMBERED[name] ?? name.replaceAll("_", " ")} ${number}`;
}

/** Checks that should be red: they show that the tests notice. */
export function wantsRed(check: CheckKind): boolean {
  if (typeof check !== "string") return "mutant" in check;
  return ["new_tests", "reverted", "broken_tests", "broken_base", "arbiter_base"].includes(check);
}

/** How a check came out: what it should be, what it should not be, or a fact that alone says neither. */
export function checkTone({ check, exitCode }: EventOf<"tests_output">): "ok" | "err" | "fact" {
  if (wantsRed(check)) return exitCode === 0 ? "fact" : "ok";
  return exitCode === 0 ? "ok" : "err";
}

/** How a command ended, in words, where an exit code does not say it. */
export function endedText(ended: Ended): string {
  switch (ended.ended) {
    case "exited":
      return `exit ${ended.code}`;
    case "killed":
      return `killed by signal ${ended.signal}`;
    case "timed_out":
      return `ended after ${ended.limit_s} s`;
    case "not_started":
      return `did not start: ${ended.reason}`;
  }
}

export const GATES: Record<GateName, string> = {
  scope: "Scope",
  protected: "Protected files",
  dependencies: "Dependencies",
  secrets: "Secrets",
  existing_tests: "Existing tests untouched",
  assertions: "New tests assert",
  suspicion: "Nothing suspicious",
  tests: "Tests",
  baseline: "Baseline",
  red_green: "Red → green",
  old_tests: "Old tests, new code",
  examples: "Examples",
  probes: "Examiner's probes",
  comparison: "Old and new compared",
  determinism: "The same every time",
  mutation: "Mutants",
  review: "Review",
  findings: "Findings",
};

export const ROLES: Record<Role, string> = {
  builder: "Builder",
  reviewer: "Reviewer",
  moderator: "Moderator",
  examiner: "Examiner",
};

const PURPOSES: Record<Purpose, string> = {
  build: "writing",
  arbiter_test: "writing a test for the arbiter",
  confirm_test: "checking that the test states the claim",
  review: "reviewing",
  moderate: "deciding",
  summarise: "summing up the turns",
  examine: "writing probes",
  judge_probe: "judging a probe",
};

/** What goes on, in a few words. */
export function workText(work: Work): string {
  switch (work.work) {
    case "prepare":
      return "Taking the tree";
    case "read":
      return "Reading files";
    case "call":
      return `${ROLES[work.role]} ${PURPOSES[work.purpose]}`;
    case "apply":
      return "Placing the patch";
    case "inspect":
      return "Reading the change";
    case "check":
      return checkTitle(work.check);
    case "ask":
      return "Waiting for you";
    case "land":
      return "Landing the change";
  }
}
