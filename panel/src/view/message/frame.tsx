import type { ComponentChildren } from "preact";
import { clock } from "../../text/format.ts";

/** The kinds of messages, each with its colour. */
export type Kind =
  | "user"
  | "status"
  | "builder"
  | "reviewer"
  | "patch"
  | "tests"
  | "review"
  | "success"
  | "warning"
  | "error";

const LABELS: Record<Kind, string> = {
  user: "You",
  status: "Status",
  builder: "Builder",
  reviewer: "Reviewer",
  patch: "Patch",
  tests: "Tests",
  review: "Review",
  success: "Success",
  warning: "Warning",
  error: "Error",
};

/** A message: its kind in its colour, a thin rule, and what it says. */
export function MessageFrame(props: { kind: Kind; label?: string; at?: string; live?: boolean; children: ComponentChildren }) {
  const { kind, label, at, live, children } = props;
  return (
    <article class={`message${live ? " live" : ""}`} data-kind={kind}>
      <h3 class="label" title={at === undefined ? undefined : clock(at)}>
        {label ?? LABELS[kind]}
      </h3>
      <div class="body">{children}</div>
    </article>
  );
}
