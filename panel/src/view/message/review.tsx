import { useRef, useState } from "preact/hooks";
import type { FindingView } from "../../model/findings.ts";
import type { Item } from "../../model/item.ts";
import type { RunModel } from "../../model/run.ts";
import type { Issue } from "../../wire/protocol.ts";
import { usePanel } from "../context.ts";
import { WordsForm } from "../field.tsx";
import { useFocusBack } from "../hooks.ts";
import { Code, Output, Rich } from "../text.tsx";
import { MessageFrame } from "./frame.tsx";

type ReviewItem = Extract<Item, { kind: "review" }>;

const VERDICTS = { approve: "No objection", request_changes: "Changes requested", block: "Must not land like this" } as const;

/** A review in its three lists: what blocks, what is suggested, which tests are missing. */
export function ReviewMessage({ item, model }: { item: ReviewItem; model: RunModel }) {
  const { review } = item;
  const blockers = review.issues.filter((issue) => issue.severity !== "minor");
  const suggestions = review.issues.filter((issue) => issue.severity === "minor");
  return (
    <MessageFrame kind="review" at={item.at}>
      <p>
        <strong>{VERDICTS[review.verdict]}.</strong>
        {review.block_reason != null && <span class="muted"> {review.block_reason.replaceAll("_", " ")}</span>}
      </p>
      <IssueList title="Blockers" issues={blockers} model={model} />
      <IssueList title="Suggestions" issues={suggestions} model={model} />
      {review.extra_tests.length > 0 && (
        <section class="issues">
          <h4>
            Test gaps <span class="count">{review.extra_tests.length}</span>
          </h4>
          <ul class="gaps">
            {review.extra_tests.map((gap, index) => (
              <li key={index}>
                <Rich text={gap} />
              </li>
            ))}
          </ul>
        </section>
      )}
      {review.suggested_patch != null && review.suggested_patch !== "" && (
        <details class="fold">
          <summary>Suggested patch</summary>
          <Output text={review.suggested_patch} label="Suggested patch" />
        </details>
      )}
    </MessageFrame>
  );
}

function IssueList({ title, issues, model }: { title: string; issues: Issue[]; model: RunModel }) {
  if (issues.length === 0) return null;
  return (
    <section class="issues">
      <h4>
        {title} <span class="count">{issues.length}</span>
      </h4>
      <ul>
        {issues.map((issue, index) => (
          <li key={index}>
            <IssueCard issue={issue} finding={model.findings.of(issue)} model={model} />
          </li>
        ))}
      </ul>
    </section>
  );
}

function IssueCard({ issue, finding, model }: { issue: Issue; finding: FindingView | undefined; model: RunModel }) {
  return (
    <div class="issue">
      <p>
        <Severity issue={issue} /> <Rich text={issue.description} />
      </p>
      {issue.how_to_verify != null && issue.how_to_verify !== "" && (
        <p class="fine">
          Shown by: <Rich text={issue.how_to_verify} />
        </p>
      )}
      {issue.uncertainty != null && issue.uncertainty !== "" && (
        <p class="fine">
          Unsure: <Rich text={issue.uncertainty} />
        </p>
      )}
      <p class="fine issue-foot">
        {finding !== undefined && <FindingStatus finding={finding} />}
        {issue.issue_id != null && <Code text={issue.issue_id} />}
      </p>
      {finding !== undefined && <IssueActions finding={finding} model={model} />}
    </div>
  );
}

/** How bad a finding is. */
export function Severity({ issue }: { issue: Issue }) {
  return <span class={`severity ${issue.severity}`}>{issue.severity}</span>;
}

const STATUS = { open: "open", gone: "not raised again", confirmed: "confirmed by a test", refuted: "refuted by a test", settled: "settled by you" } as const;

/** Where a finding stands. */
export function FindingStatus({ finding }: { finding: FindingView }) {
  const running = finding.arbiter === "running";
  const minor = finding.issue.severity === "minor";
  return <span class={`finding-status ${minor ? "minor" : finding.status}`}>{running ? "a test will settle it" : STATUS[finding.status]}</span>;
}

/** Dispute a finding, or ask about it. */
export function IssueActions({ finding, model }: { finding: FindingView; model: RunModel }) {
  const panel = usePanel();
  const [disputing, setDisputing] = useState(false);
  const [why, setWhy] = useState("");
  const opener = useRef<HTMLButtonElement>(null);
  useFocusBack(disputing, () => opener.current);
  if (model.over || (finding.status !== "open" && finding.status !== "gone")) return null;
  const send = async () => {
    if (await panel.dispute(model.run, finding.id, why)) {
      setDisputing(false);
      setWhy("");
    }
  };
  return (
    <div class="issue-actions">
      {!disputing && finding.named && finding.status === "open" && (
        <button type="button" class="link" ref={opener} onClick={() => setDisputing(true)}>
          Dispute
        </button>
      )}
      {!disputing && (
        <button type="button" class="link" onClick={() => panel.draft(`About ${finding.named ? `\`${finding.id}\`` : "a finding"}: `)}>
          Ask
        </button>
      )}
      {disputing && (
        <WordsForm
          label="Why it does not stand"
          action="Settle it"
          value={why}
          onInput={setWhy}
          onSend={() => void send()}
          onCancel={() => setDisputing(false)}
        />
      )}
    </div>
  );
}
