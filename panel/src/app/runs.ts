import type { RunId, RunState } from "../wire/protocol.ts";

/** Puts runs into a list, the latest first; what was known of them is replaced. */
export function mergeRuns(known: RunState[], told: RunState[]): RunState[] {
  const fresh = new Map(told.map((state) => [state.run, state]));
  const merged = known.map((state) => {
    const update = fresh.get(state.run);
    fresh.delete(state.run);
    return update ?? state;
  });
  if (fresh.size === 0) return merged;
  return [...fresh.values(), ...merged].sort((one, other) => (one.began < other.began ? 1 : one.began > other.began ? -1 : 0));
}

/** The runs that lead to a run, as far as they are known: the first one first. */
export function conversation(known: ReadonlyMap<RunId, RunState>, last: RunId | null): RunState[] {
  const chain: RunState[] = [];
  for (let run = last; run !== null; ) {
    const state = known.get(run);
    if (state === undefined || chain.includes(state)) break;
    chain.unshift(state);
    run = state.follows ?? null;
  }
  return chain;
}
