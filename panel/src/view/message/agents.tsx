import { ROLES } from "../../model/checks.ts";
import type { AnswerCost, Item } from "../../model/item.ts";
import { count, duration, money } from "../../text/format.ts";
import { Code, Rich, TextList } from "../text.tsx";
import { MessageFrame } from "./frame.tsx";

type Of<K extends Item["kind"]> = Extract<Item, { kind: K }>;

/** What the builder says of its change: all of it claims. */
export function BuilderMessage({ item }: { item: Of<"builder"> }) {
  const { reply } = item;
  const [first, ...rest] = reply.plan;
  return (
    <MessageFrame kind="builder" at={item.at}>
      {first !== undefined && rest.length === 0 && (
        <p>
          <Rich text={first} />
        </p>
      )}
      {first !== undefined && rest.length > 0 && (
        <ol class="plan">
          {reply.plan.map((step, index) => (
            <li key={index}>
              <Rich text={step} />
            </li>
          ))}
        </ol>
      )}
      {reply.files_needed.length > 0 && (
        <p>
          Wants to read first:{" "}
          {reply.files_needed.map((path, index) => (
            <span key={path}>
              {index > 0 && ", "}
              <Code text={path} />
            </span>
          ))}
        </p>
      )}
      {reply.conflict != null && (
        <div class="conflict">
          <p>
            <strong>The goal cannot be reached honestly.</strong> <Rich text={reply.conflict.reason} />
          </p>
          <p class="muted">
            <Rich text={reply.conflict.evidence} />
          </p>
        </div>
      )}
      <div class="claims">
        <TextList title="Tests" items={reply.tests} />
        <TextList title="Risks" items={reply.risks} />
        <TextList title="Wants to run" items={reply.run.map((line) => `\`${line}\``)} />
        {reply.answers.length > 0 && (
          <div class="text-list">
            <h4>Answers</h4>
            <ul>
              {reply.answers.map((answer, index) => (
                <li key={index}>
                  <span class="tag">{answer.answer}</span> <Code text={answer.to} />: <Rich text={answer.text} />
                </li>
              ))}
            </ul>
          </div>
        )}
      </div>
      <CostLine cost={item.cost} />
    </MessageFrame>
  );
}

/** What the reviewer or the moderator says in words. */
export function ReviewerMessage({ item }: { item: Of<"reviewer"> }) {
  return (
    <MessageFrame kind="reviewer" label={ROLES[item.role]} at={item.at}>
      <p>
        <Rich text={item.text} />
      </p>
      <CostLine cost={item.cost} />
    </MessageFrame>
  );
}

function CostLine({ cost }: { cost: AnswerCost | null }) {
  if (cost === null) return null;
  const { usage, model, milliseconds } = cost;
  return (
    <p class="fine">
      {model} · {duration(milliseconds)} · {count(usage.input_tokens)} in, {count(usage.output_tokens)} out
      {usage.cost_micro_usd != null && ` · ${money(usage.cost_micro_usd)}`}
    </p>
  );
}
