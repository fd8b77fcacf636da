import { checkTitle, checkTone, GATES, wantsRed } from "../../model/checks.ts";
import { headline, type Tone } from "../../model/headline.ts";
import type { RunModel } from "../../model/run.ts";
import { duration, several } from "../../text/format.ts";
import type { Criterion, EventOf, Gate, RunState, State } from "../../wire/protocol.ts";
import { ToneIcon } from "../icon.tsx";
import { Code, Rich } from "../text.tsx";

/** Why a change is approved or not, without reading a transcript: one sentence, then each gate with its receipt. */
export function VerdictCard({ model, state }: { model: RunModel; state: RunState | undefined }) {
  const head = headline(model, state);
  const decided = model.decided;
  const reason = model.outcome?.outcome === "not_approved" && model.outcome.stopped_by !== "not_landed" ? model.outcome.reason : null;
  return (
    <section class={`card verdict verdict-${head.tone}`} aria-labelledby="verdict-title">
      <header class="card-head">
        <h2>Verdict</h2>
        {head.turn > 0 && <span class="chip number">turn {head.turn}</span>}
      </header>
      <div class="verdict-head">
        <p id="verdict-title" class={`verdict-title tone-${head.tone}`}>
          {head.title}
        </p>
        {head.sentence !== "" && <p class="verdict-sentence">{head.sentence}</p>}
      </div>
      {head.changes.length > 0 && (
        <div class="verdict-changes">
          <h3>What would change it</h3>
          <ul>
            {head.changes.map((text, index) => (
              <li key={index}>
                <Rich text={text} />
              </li>
            ))}
          </ul>
        </div>
      )}
      {decided === null ? <Interim model={model} /> : <Gates gates={decided.gates} />}
      {decided !== null && <Criteria criteria={decided.criteria ?? []} />}
      {reason !== null && (
        <details class="fold verdict-reason">
          <summary>What happened, in full</summary>
          <p>
            <Rich text={reason} />
          </p>
        </details>
      )}
    </section>
  );
}

const STATES: Record<State, { tone: Tone; word: string }> = {
  passed: { tone: "ok", word: "passed" },
  absent: { tone: "idle", word: "not applicable" },
  objected: { tone: "warn", word: "objected" },
  answered: { tone: "warn", word: "objected and answered" },
  blocked: { tone: "err", word: "blocks" },
  pending: { tone: "idle", word: "not asked" },
};

function Gates({ gates }: { gates: Gate[] }) {
  const against = gates.filter((gate) => gate.state === "blocked" || gate.state === "objected");
  const shown = [...against, ...gates.filter((gate) => gate.state === "passed" || gate.state === "answered")];
  const absent = gates.filter((gate) => gate.state === "absent");
  const pending = gates.filter((gate) => gate.state === "pending");
  const runs = gates.reduce((sum, gate) => sum + gate.cost.runs, 0);
  const time = gates.reduce((sum, gate) => sum + gate.cost.ms, 0);
  return (
    <>
      <ul class="gates">
        {shown.map((gate) => (
          <GateRow key={gate.gate} gate={gate} />
        ))}
      </ul>
      <Rest title="Not asked any more" gates={pending} />
      <Rest title="Not applicable" gates={absent} />
      {runs > 0 && (
        <p class="card-foot number">
          Evidence: {several(runs, "run")}, {duration(time)}
        </p>
      )}
    </>
  );
}

function GateRow({ gate }: { gate: Gate }) {
  const { tone, word } = STATES[gate.state];
  const objections = gate.objections ?? [];
  return (
    <li class="gate">
      <ToneIcon tone={tone} word={word} />
      <div>
        <span class="gate-name">{GATES[gate.gate]}</span>{" "}
        <span class="gate-message">
          <Rich text={gate.message} />
        </span>
        {objections.length > 0 && (
          <ul class="objections">
            {objections.map((objection) => (
              <li key={objection.id}>
                <Rich text={objection.text} /> <Code text={objection.id} />
                {objection.answer != null && (
                  <p class="fine">
                    Answered: <Rich text={objection.answer} />
                  </p>
                )}
              </li>
            ))}
          </ul>
        )}
      </div>
      <span class="gate-cost number">
        {gate.cost.runs > 0 ? (
          <span title={several(gate.cost.runs, "run")}>{duration(gate.cost.ms)}</span>
        ) : (
          <span aria-label="costs no run">–</span>
        )}
      </span>
    </li>
  );
}

function Rest({ title, gates }: { title: string; gates: Gate[] }) {
  if (gates.length === 0) return null;
  return (
    <details class="fold gates-rest">
      <summary>
        {title}: <span class="muted">{gates.map((gate) => GATES[gate.gate].toLowerCase()).join(", ")}</span>
      </summary>
      <ul class="gates">
        {gates.map((gate) => (
          <GateRow key={gate.gate} gate={gate} />
        ))}
      </ul>
    </details>
  );
}

function Criteria({ criteria }: { criteria: Criterion[] }) {
  if (criteria.length === 0) return null;
  return (
    <div class="criteria">
      <h3>The goal</h3>
      <ul class="gates">
        {criteria.map((one, index) => {
          const holds = one.holds ?? null;
          return (
            <li key={index} class="gate">
              <ToneIcon tone={holds === null ? "warn" : holds ? "ok" : "err"} word={holds === null ? "nothing shows it" : holds ? "holds" : "does not hold"} />
              <div>
                <Rich text={one.text} />{" "}
                <span class="gate-message">
                  {one.shown_by.length === 0 ? "Not shown by any test or probe." : `Shown by ${one.shown_by.map((name) => `“${name}”`).join(", ")}.`}
                </span>
              </div>
            </li>
          );
        })}
      </ul>
    </div>
  );
}

/** Before the first verdict: what ran for the candidate so far. */
function Interim({ model }: { model: RunModel }) {
  if (model.checks.length === 0) return null;
  return (
    <>
      <ul class="gates" aria-label="Evidence so far">
        {grouped(model.checks).map(({ title, tone, text, ms }) => (
          <li key={title} class="gate">
            <ToneIcon tone={tone} word={tone === "ok" ? "as it should be" : tone === "err" ? "not as it should be" : "seen"} />
            <div>
              <span class="gate-name">{title}</span> <span class="gate-message">{text}</span>
            </div>
            <span class="gate-cost number">{duration(ms)}</span>
          </li>
        ))}
      </ul>
      <p class="card-foot">Evidence so far. The verdict comes when everything was asked.</p>
    </>
  );
}

function grouped(checks: EventOf<"tests_output">[]): { title: string; tone: Tone; text: string; ms: number }[] {
  const groups = new Map<string, EventOf<"tests_output">[]>();
  for (const check of checks) {
    const title = typeof check.check === "string" ? checkTitle(check.check) : checkTitle(check.check).replace(/,? (seed )?\d+$/, "");
    groups.set(title, [...(groups.get(title) ?? []), check]);
  }
  return [...groups].map(([title, ran]) => {
    const bad = ran.filter((one) => checkTone(one) === "err").length;
    const report = ran.length === 1 ? ran[0]?.receipt.report : null;
    const red = ran[0] !== undefined && wantsRed(ran[0].check);
    const text =
      report == null
        ? ran.length > 1
          ? several(ran.length, "run")
          : ""
        : red
          ? `${report.failed + report.errors} red${bad === 0 && report.failed + report.errors > 0 ? ", as they should be" : ""}`
          : `${report.passed} passed${report.failed > 0 ? `, ${report.failed} failed` : ""}`;
    const facts = ran.every((one) => checkTone(one) === "fact");
    return { title, tone: bad > 0 ? "err" : facts ? "idle" : "ok", text, ms: ran.reduce((sum, one) => sum + one.receipt.duration_ms, 0) };
  });
}
