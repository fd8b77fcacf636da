import { checkTitle, checkTone, endedText } from "../../model/checks.ts";
import type { Item } from "../../model/item.ts";
import { duration, several } from "../../text/format.ts";
import type { EventOf } from "../../wire/protocol.ts";
import { ToneIcon } from "../icon.tsx";
import { Code, Output } from "../text.tsx";
import { MessageFrame } from "./frame.tsx";

type Ran = EventOf<"tests_output">;
type Of<K extends Item["kind"]> = Extract<Item, { kind: K }>;

/** A command that Checkmate ran: how it came out, and its output folded. */
export function TestsMessage({ item }: { item: Of<"tests"> }) {
  const { output, own } = item;
  const { receipt } = output;
  const failing = receipt.report?.failing ?? [];
  const red = output.exitCode !== 0;
  return (
    <MessageFrame kind="tests" at={item.at} label={output.check === "baseline" ? "Tests" : undefined}>
      <p>
        <strong class={red ? "err" : undefined}>{resultText(output)}</strong>
        <span class="muted">
          {" · "}
          {own ? "on your tree" : output.check === "tests" ? "on the change" : checkTitle(output.check).toLowerCase()}
          {" · "}
          {endedText(receipt.ended)} · {duration(receipt.duration_ms)}
        </span>
      </p>
      {failing.length > 0 && (
        <ul class="failing" aria-label="Failing">
          {failing.slice(0, 20).map((name, index) => (
            <li key={index}>
              <Code text={name} />
            </li>
          ))}
          {failing.length > 20 && <li class="muted">and {failing.length - 20} more</li>}
        </ul>
      )}
      <OutputOf output={output} />
    </MessageFrame>
  );
}

/** Runs that show whether the change is what it claims, a line each. */
export function EvidenceMessage({ item }: { item: Of<"evidence"> }) {
  const { outputs } = item;
  const odd = outputs.filter((output) => checkTone(output) === "err").length;
  return (
    <MessageFrame kind="tests" label="Evidence" at={item.at}>
      <details class="fold" open={odd > 0 && odd <= 3}>
        <summary>
          {several(outputs.length, "run")} <span class="muted">· {summaryOf(outputs)}</span>
        </summary>
        <ul class="runs">
          {outputs.map((output, index) => (
            <EvidenceLine key={index} output={output} />
          ))}
        </ul>
      </details>
    </MessageFrame>
  );
}

function EvidenceLine({ output }: { output: Ran }) {
  const tone = checkTone(output);
  return (
    <li>
      <ToneIcon tone={tone === "fact" ? "idle" : tone} word={tone === "ok" ? "as it should be" : tone === "err" ? "not as it should be" : "seen"} />
      <div>
        {checkTitle(output.check)} <span class="muted">{resultText(output)}</span>
        <OutputOf output={output} />
      </div>
      <span class="number muted">{duration(output.receipt.duration_ms)}</span>
    </li>
  );
}

function summaryOf(outputs: Ran[]): string {
  const titles = [...new Set(outputs.map((output) => (typeof output.check === "string" ? checkTitle(output.check) : groupTitle(output))))];
  return titles.length <= 3 ? titles.join(", ").toLowerCase() : `${titles.slice(0, 3).join(", ").toLowerCase()} and more`;
}

function groupTitle(output: Ran): string {
  return checkTitle(output.check).replace(/,? (seed )?\d+$/, "");
}

function resultText({ exitCode, receipt }: Ran): string {
  const { report } = receipt;
  if (report == null) return exitCode === 0 ? "Ran to its end" : "Failed";
  const parts = [`${report.passed} passed`];
  if (report.failed > 0) parts.push(`${report.failed} failed`);
  if (report.errors > 0) parts.push(several(report.errors, "error"));
  if (report.skipped > 0) parts.push(`${report.skipped} skipped`);
  return parts.join(", ");
}

function OutputOf({ output }: { output: Ran }) {
  const { stdout, stderr, receipt } = output;
  return (
    <details class="fold">
      <summary>
        Output <span class="muted">of</span> <Code text={receipt.argv.join(" ")} />
      </summary>
      {stdout !== "" && <Output text={stdout} label="Standard output" />}
      {stderr !== "" && <Output text={stderr} label="Standard error" />}
      {stdout === "" && stderr === "" && <p class="muted">It printed nothing.</p>}
    </details>
  );
}
