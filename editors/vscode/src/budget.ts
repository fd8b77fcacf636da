import type { Limits } from "./wire.ts";

/** A limit of a run's budget, in the unit in which people write it. */
export interface Limit {
  key: keyof Limits;
  label: string;
  /** How many of the protocol's units are one of people's. */
  scale: number;
}

export const LIMITS: Limit[] = [
  { key: "cost_micro_usd", label: "US dollars", scale: 1e6 },
  { key: "tokens", label: "Tokens", scale: 1 },
  { key: "calls", label: "Requests to agents", scale: 1 },
  { key: "minutes", label: "Minutes", scale: 1 },
];

/** A limit for people; the number alone. */
export function amountText({ scale }: Limit, amount: number): string {
  return String(amount / scale);
}

/** Reads what a person wrote for a limit: the amount in the protocol's unit, or a sentence that says what is wrong. */
export function readAmount({ label, scale }: Limit, text: string, before: number | null | undefined): number | string {
  const amount = Math.round(Number(text.trim().replace(/^\$/, "")) * scale);
  const most = scale === 1 ? 2 ** 32 - 1 : Number.MAX_SAFE_INTEGER;
  if (text.trim() === "" || !Number.isSafeInteger(amount) || amount <= 0 || amount > most) {
    return `Write ${label === "US dollars" ? "an amount in US dollars, such as 1.50" : "a whole number, such as 100"}.`;
  }
  if (scale === 1 && !/^\d+$/.test(text.trim())) return "Write a whole number, such as 100.";
  return before != null && amount <= before ? `It began with ${before / scale}: write more than that.` : amount;
}
