import type { ArbiterIssue, ArbiterResult, Finding, FindingAnswer, Issue, Review } from "../wire/protocol.ts";

/** A finding of the reviewer and what became of it. */
export interface FindingView {
  id: string;
  /** Whether the run itself knows it by this name, so that it can be disputed. */
  named: boolean;
  issue: Issue;
  status: Finding["status"]["status"];
  turns: number[];
  answers: FindingAnswer[];
  /** Why a person settled it, where one did. */
  why: string | null;
  /** What a test settled, where one was asked for. */
  arbiter: ArbiterResult | "running" | null;
}

/** Every finding of a run. Reviews tell them as they come; a verdict tells where each stands. */
export class Findings {
  /** Another number whenever something is another. */
  revision = 0;
  private readonly byId = new Map<string, FindingView>();
  private disputedId: string | null = null;

  /** All of them: those that stand first, the worst first. */
  list(): FindingView[] {
    const weight = { critical: 0, major: 1, minor: 2 };
    const standing = { confirmed: 0, open: 1, refuted: 2, settled: 2, gone: 3 };
    return [...this.byId.values()].sort(
      (one, other) => standing[one.status] - standing[other.status] || weight[one.issue.severity] - weight[other.issue.severity],
    );
  }

  /** The finding that an issue of a review is. */
  of(issue: Issue): FindingView | undefined {
    const known = this.byId.get(idOf(issue));
    if (known !== undefined || issue.issue_id != null) return known;
    return [...this.byId.values()].find((finding) => finding.issue.description === issue.description);
  }

  reviewed(review: Review, turn: number): void {
    this.revision++;
    const raised = new Set<string>();
    for (const issue of review.issues) {
      const before = this.of(issue);
      const id = before?.id ?? idOf(issue);
      raised.add(id);
      this.byId.set(id, {
        id,
        named: before?.named ?? issue.issue_id != null,
        issue,
        status: before?.status === "settled" ? "settled" : "open",
        turns: before === undefined ? [turn] : before.turns.includes(turn) ? before.turns : [...before.turns, turn],
        answers: before?.answers ?? [],
        why: before?.why ?? null,
        arbiter: before?.arbiter ?? null,
      });
    }
    for (const [id, finding] of this.byId) {
      if (finding.status === "open" && !raised.has(id)) this.byId.set(id, { ...finding, status: "gone" });
    }
  }

  answered(answers: FindingAnswer[]): void {
    this.revision++;
    for (const answer of answers) {
      const finding = this.byId.get(answer.to);
      if (finding !== undefined) this.byId.set(finding.id, { ...finding, answers: [...finding.answers, answer] });
    }
  }

  disputed(issue: ArbiterIssue): void {
    this.revision++;
    this.disputedId = issue.issue_id;
    const finding = this.byId.get(issue.issue_id);
    if (finding !== undefined) this.byId.set(finding.id, { ...finding, arbiter: "running" });
  }

  settled(result: ArbiterResult): void {
    this.revision++;
    const finding = this.disputedId === null ? undefined : this.byId.get(this.disputedId);
    this.disputedId = null;
    if (finding === undefined) return;
    const status = { bug_confirmed: "confirmed", bug_refuted: "refuted", test_invalid: finding.status } as const;
    this.byId.set(finding.id, { ...finding, arbiter: result, status: status[result.outcome] });
  }

  /** A person says that a finding does not stand. */
  dismissed(id: string, why: string): void {
    this.revision++;
    const finding = this.byId.get(id);
    if (finding !== undefined) this.byId.set(id, { ...finding, status: "settled", why });
  }

  judged(findings: Finding[]): void {
    this.revision++;
    const arbiters = new Map([...this.byId.values()].map((finding) => [finding.issue.description, finding.arbiter]));
    this.byId.clear();
    for (const { id, issue, status, turns, answers } of findings) {
      const arbiter = arbiters.get(issue.description) ?? null;
      this.byId.set(id, { id, named: true, issue, status: status.status, turns, answers, arbiter, why: status.status === "settled" ? status.why : null });
    }
  }
}

function idOf(issue: Issue): string {
  return issue.issue_id ?? `\u0000${issue.description}`;
}
