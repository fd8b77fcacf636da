/** Milliseconds as people say them: `36 ms`, `1.2 s`, `48 s`, `1 min 12 s`, `2 h 5 min`. */
export function duration(milliseconds: number): string {
  if (milliseconds < 1000) return `${Math.max(0, Math.round(milliseconds))} ms`;
  const seconds = milliseconds / 1000;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  const whole = Math.floor(seconds);
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
}

/** Millionths of a US dollar: `$0.14`, and `<$0.01` for less than a cent. */
export function money(microUsd: number): string {
  if (microUsd > 0 && microUsd < 10_000) return "<$0.01";
  return `$${(microUsd / 1e6).toFixed(2)}`;
}

/** Counts: `840`, `41k`, `1.2M`. */
export function count(number: number): string {
  if (number < 1000) return String(number);
  if (number < 10_000) return `${(number / 1000).toFixed(1).replace(/\.0$/, "")}k`;
  if (number < 999_500) return `${Math.round(number / 1000)}k`;
  return `${(number / 1e6).toFixed(1).replace(/\.0$/, "")}M`;
}

/** `1 file`, `2 files`. */
export function several(number: number, one: string, many = `${one}s`): string {
  return `${number} ${number === 1 ? one : many}`;
}

/** The time of day of an RFC 3339 time, as people here write it. */
export function clock(at: string): string {
  const date = new Date(at);
  return Number.isNaN(date.getTime()) ? "" : date.toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit" });
}

/** Today, Yesterday, or the day's date. */
export function day(at: string, now: Date): string {
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return "Earlier";
  const midnight = (one: Date) => new Date(one.getFullYear(), one.getMonth(), one.getDate()).getTime();
  const days = Math.round((midnight(now) - midnight(date)) / 86_400_000);
  if (days <= 0) return "Today";
  if (days === 1) return "Yesterday";
  const sameYear = date.getFullYear() === now.getFullYear();
  return date.toLocaleDateString(undefined, { weekday: "short", day: "numeric", month: "short", ...(sameYear ? {} : { year: "numeric" }) });
}
