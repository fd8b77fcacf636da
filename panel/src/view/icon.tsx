import type { Tone } from "../model/headline.ts";

const PATHS = {
  check: "M3.5 8.5l3 3 6-7",
  cross: "M4 4l8 8M12 4l-8 8",
  mark: "M8 3v6M8 12v.5",
  dot: "M8 8h.01",
  wait: "M4.5 8h.01M8 8h.01M11.5 8h.01",
  chevron: "M6 4l4 4-4 4",
  gear: "M3 4.5h10M3 11.5h10M6 2.5v4M10 9.5v4",
  list: "M3 4h10M3 8h10M3 12h10",
  plus: "M8 3v10M3 8h10",
  folder: "M2.5 4.5h4l1.5 1.5h5.5v6.5h-11z",
} as const;

/** A small sign; what it means stands beside it as text. */
export function Icon({ name }: { name: keyof typeof PATHS }) {
  return (
    <svg class={`icon icon-${name}`} viewBox="0 0 16 16" width="16" height="16" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} />
    </svg>
  );
}

/** The product's mark. */
export function Logo() {
  return (
    <svg class="logo" viewBox="0 0 18 18" width="18" height="18" aria-hidden="true" focusable="false">
      <rect class="logo-dark" width="18" height="18" rx="4" />
      <path class="logo-light" d="M9 0h5a4 4 0 0 1 4 4v5H9zM0 9h9v9H4a4 4 0 0 1-4-4z" />
    </svg>
  );
}

const TONES: Record<Tone, keyof typeof PATHS> = { ok: "check", warn: "mark", err: "cross", busy: "wait", idle: "dot" };

/** How something stands: a sign, and the word for who does not see it. */
export function ToneIcon({ tone, word }: { tone: Tone; word: string }) {
  return (
    <span class={`tone tone-${tone}`}>
      <Icon name={TONES[tone]} />
      <span class="unseen">{word}</span>
    </span>
  );
}
