import type { FindingView } from "../../model/findings.ts";
import type { RunModel } from "../../model/run.ts";
import { FindingStatus, IssueActions, Severity } from "../message/review.tsx";
import { Code, Output, Rich } from "../text.tsx";

/** Every finding of a run, with what became of it over the turns. */
export function IssuesCard({ model }: { model: RunModel }) {
  const findings = model.findings.list();
  if (findings.length === 0) return null;
  const open = findings.filter((finding) => finding.status === "open" || finding.status === "confirmed").length;
  return (
    <section class="card" aria-label="Issues">
      <header class="card-head">
        <h2>Issues</h2>
        <span class="chip number">{open === 0 ? "none open" : `${open} of ${findings.length} open`}</span>
      </header>
      <ul class="findings">
        {findings.map((finding) => (
          <li key={finding.id}>
            <FindingRow finding={finding} model={model} />
          </li>
        ))}
      </ul>
    </section>
  );
}

function FindingRow({ finding, model }: { finding: FindingView; model: RunModel }) {
  const { issue, turns, answers, arbiter } = finding;
  return (
    <>
      <p>
        <Severity issue={issue} /> <Rich text={issue.description} />
      </p>
      <p class="fine issue-foot">
        <FindingStatus finding={finding} />
        <span>raised in turn {turns.join(", ")}</span>
        {finding.named && <Code text={finding.id} />}
      </p>
      {answers.map((answer, index) => (
        <p key={index} class="fine">
          Builder, <span class="tag">{answer.answer}</span> <Rich text={answer.text} />
        </p>
      ))}
      {finding.why !== null && finding.why !== "" && (
        <p class="fine">
          You: <Rich text={finding.why} />
        </p>
      )}
      {arbiter !== null && arbiter !== "running" && (
        <details class="fold fine">
          <summary>
            Arbiter: <Rich text={arbiter.explanation} />
          </summary>
          {arbiter.test_patch != null && <Output text={arbiter.test_patch} label="The arbiter's test" />}
        </details>
      )}
      <IssueActions finding={finding} model={model} />
    </>
  );
}
