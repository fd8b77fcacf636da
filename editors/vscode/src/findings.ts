import type { Finding, Issue } from "./wire.ts";

/** A finding that stands. */
export interface StandingFinding {
  id: string;
  /** Whether the run itself knows it by this name, so that it can be disputed. */
  named: boolean;
  issue: Issue;
}

type Entry = StandingFinding & { stands: boolean };

/** The findings of a run: reviews tell them as they come, a verdict tells where each stands. */
export class Findings {
  private byId = new Map<string, Entry>();
  private arbitrated: string | null = null;

  /** Those that stand, in the order in which they were raised. */
  standing(): StandingFinding[] {
    return [...this.byId.values()].filter((finding) => finding.stands);
  }

  get(id: string): StandingFinding | undefined {
    return this.byId.get(id);
  }

  /** A review raised these, and none of the others. */
  reviewed(issues: Issue[]): void {
    const raised = new Set<string>();
    for (const issue of issues) {
      const id = issue.issue_id ?? this.same(issue) ?? issue.description;
      const named = issue.issue_id != null || (this.byId.get(id)?.named ?? false);
      raised.add(id);
      this.byId.set(id, { id, named, issue, stands: true });
    }
    for (const entry of this.byId.values()) entry.stands &&= raised.has(entry.id);
  }

  /** A verdict says where each stands. */
  judged(findings: Finding[]): void {
    this.byId = new Map(
      findings.map(({ id, issue, status }) => {
        const stands = status.status === "open" || status.status === "confirmed";
        return [id, { id, named: true, issue, stands }];
      }),
    );
  }

  /** A test is to settle a finding. */
  arbitrating(id: string): void {
    this.arbitrated = id;
  }

  /** The test has settled it, or not. */
  arbitratedAs(outcome: "bug_confirmed" | "bug_refuted" | "test_invalid"): void {
    const entry = this.byId.get(this.arbitrated ?? "");
    if (entry !== undefined && outcome === "bug_refuted") entry.stands = false;
    this.arbitrated = null;
  }

  /** A person settled it; the run says so too at its next verdict. */
  disputed(id: string): void {
    const entry = this.byId.get(id);
    if (entry !== undefined) entry.stands = false;
  }

  private same(issue: Issue): string | undefined {
    return [...this.byId.values()].find((entry) => entry.issue.description === issue.description)?.id;
  }
}
