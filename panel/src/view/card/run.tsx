import { ROLES } from "../../model/checks.ts";
import { working } from "../../model/headline.ts";
import type { RunModel } from "../../model/run.ts";
import { count, duration, money, several } from "../../text/format.ts";
import { visible } from "../../text/visible.ts";
import type { Limits, Role, Usage } from "../../wire/protocol.ts";
import { useNow } from "../hooks.ts";

/** Who works, what it has cost and how much of the budget that is. */
export function RunCard({ model, driven }: { model: RunModel; driven: boolean }) {
  const { started, total } = model;
  const counts = driven && model.settledAt === null;
  const now = useNow(started !== null && counts);
  if (started === null) return null;
  const { event } = started;
  const elapsed = (counts ? now : Date.parse(model.settledAt ?? model.latestAt)) - Date.parse(started.at);
  const agents = Object.entries(event.agents) as [Role, { provider: string; model: string }][];
  const used = budgetUse(event.budget, total, model.requests, elapsed);
  const busy = !driven ? "" : working(model).replace(/\.$/, "");
  return (
    <section class="card" aria-label="Run">
      <header class="card-head">
        <h2>{model.turn > 0 ? `Turn ${model.turn} of ${model.of}` : "Run"}</h2>
        {busy !== "" && <span class="chip">{busy.toLowerCase()}</span>}
      </header>
      <dl class="facts">
        {agents.map(([role, agent]) => (
          <Fact key={role} name={ROLES[role]} value={`${agent.provider} / ${agent.model}`} />
        ))}
        {total !== null && (
          <>
            <Fact name="Cost" value={total.cost_micro_usd == null ? "not known" : money(total.cost_micro_usd)} />
            <Fact name="Tokens" value={`${count(total.input_tokens)} in, ${count(total.output_tokens)} out`} />
            {total.input_tokens > 0 && <Fact name="Cached input" value={`${Math.round((100 * total.cached_tokens) / total.input_tokens)}%`} />}
          </>
        )}
        {model.requests > 0 && <Fact name="Requests" value={String(model.requests)} />}
        <Fact name="Elapsed" value={duration(elapsed)} />
        <Fact name="Tests" value={event.test_command} mono />
        <Fact name="Run" value={model.run} mono />
      </dl>
      {used.map(({ name, text, share }) => (
        <div key={name} class="budget">
          <div class="budget-text">
            <span>{name}</span> <span class="number">{text}</span>
          </div>
          <svg
            class={share > 0.9 ? "bar full" : "bar"}
            viewBox="0 0 100 4"
            preserveAspectRatio="none"
            role="meter"
            aria-label={name}
            aria-valuemin={0}
            aria-valuemax={100}
            aria-valuenow={Math.round(Math.min(1, share) * 100)}
            aria-valuetext={text}
          >
            <rect width={Math.min(1, share) * 100} height="4" />
          </svg>
        </div>
      ))}
    </section>
  );
}

function Fact({ name, value, mono }: { name: string; value: string; mono?: boolean }) {
  return (
    <>
      <dt>{name}</dt>
      <dd class={mono ? "mono" : "number"}>{visible(value)}</dd>
    </>
  );
}

/** How much of each limit of a budget is used. */
function budgetUse(budget: Limits, total: Usage | null, requests: number, elapsed: number): { name: string; text: string; share: number }[] {
  const uses: { name: string; text: string; share: number }[] = [];
  const add = (name: string, limit: number | null | undefined, used: number, text: (amount: number) => string) => {
    if (limit != null && limit > 0) uses.push({ name, text: `${text(used)} of ${text(limit)}`, share: used / limit });
  };
  add("Budget", budget.cost_micro_usd, total?.cost_micro_usd ?? 0, money);
  add("Token budget", budget.tokens, (total?.input_tokens ?? 0) + (total?.output_tokens ?? 0), count);
  add("Request budget", budget.calls, requests, (amount) => several(amount, "request"));
  add("Time budget", budget.minutes, elapsed / 60_000, (amount) => `${Math.floor(amount)} min`);
  return uses;
}
