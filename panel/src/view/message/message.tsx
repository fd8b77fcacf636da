import type { Item } from "../../model/item.ts";
import type { RunModel } from "../../model/run.ts";
import { Diff } from "../diff/diff.tsx";
import { Rich } from "../text.tsx";
import { BuilderMessage, ReviewerMessage } from "./agents.tsx";
import { MessageFrame } from "./frame.tsx";
import { ReviewMessage } from "./review.tsx";
import { EvidenceMessage, TestsMessage } from "./tests.tsx";

/** One message of the timeline. */
export function Message({ item, model }: { item: Item; model: RunModel }) {
  switch (item.kind) {
    case "user":
      return (
        <MessageFrame kind="user" at={item.at}>
          {item.about !== null && item.about !== "answer" && (
            <p class="fine">
              <Rich text={item.about} />
            </p>
          )}
          <p class="words">
            <Rich text={item.text} />
          </p>
        </MessageFrame>
      );
    case "status":
      return (
        <MessageFrame kind="status" at={item.at}>
          {item.lines.map((line, index) => (
            <p key={index} class="muted">
              <Rich text={line.text} />
            </p>
          ))}
        </MessageFrame>
      );
    case "builder":
      return <BuilderMessage item={item} />;
    case "reviewer":
      return <ReviewerMessage item={item} />;
    case "patch":
      return (
        <MessageFrame kind="patch" at={item.at}>
          <Diff
            patch={item.patch}
            before={item.before}
            sinceLabel={item.turn > 1 ? `Since turn ${item.turn - 1}` : "Since before"}
            run={model.run}
            workspace={model.started?.event.workspace ?? null}
            comment={!model.over}
          />
        </MessageFrame>
      );
    case "tests":
      return <TestsMessage item={item} />;
    case "evidence":
      return <EvidenceMessage item={item} />;
    case "review":
      return <ReviewMessage item={item} model={model} />;
    case "success":
    case "warning":
    case "error":
      return (
        <MessageFrame kind={item.kind} at={item.at}>
          <p class="words">
            <Rich text={item.text} />
          </p>
        </MessageFrame>
      );
  }
}
