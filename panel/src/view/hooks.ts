import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

/** Gives the focus to the conversation, where there is nothing better. */
export function toTimeline(): void {
  document.querySelector<HTMLElement>(".timeline")?.focus();
}

/** When something closes that had the focus, gives it to what opened it, or to the conversation where that is gone. */
export function useFocusBack(open: boolean, opener: () => HTMLElement | null | undefined): void {
  const was = useRef(open);
  useLayoutEffect(() => {
    if (was.current && !open && (document.activeElement === null || document.activeElement === document.body)) {
      const back = opener();
      if (back?.isConnected) back.focus();
      else toTimeline();
    }
    was.current = open;
  }, [open]);
}

/** Whether the page is that narrow, or whatever else the query asks. */
export function useMedia(query: string): boolean {
  const [matches, set] = useState(() => matchMedia(query).matches);
  useEffect(() => {
    const media = matchMedia(query);
    const changed = () => set(media.matches);
    changed();
    media.addEventListener("change", changed);
    return () => media.removeEventListener("change", changed);
  }, [query]);
  return matches;
}

/** The time, again and again while it is needed. */
export function useNow(on: boolean, every = 1000): number {
  const [now, set] = useState(Date.now());
  useEffect(() => {
    if (!on) return;
    set(Date.now());
    const timer = setInterval(() => set(Date.now()), every);
    return () => clearInterval(timer);
  }, [on, every]);
  return now;
}

/** Moves the focus among the elements with `data-rove` by the arrow keys, Home and End. */
export function rove(event: KeyboardEvent): void {
  const steps: Record<string, number> = { ArrowDown: 1, ArrowUp: -1 };
  const step = steps[event.key];
  if (step === undefined && event.key !== "Home" && event.key !== "End") return;
  const target = event.target as HTMLElement;
  if (target.matches("textarea, input, select")) return;
  const all = [...(event.currentTarget as HTMLElement).querySelectorAll<HTMLElement>("[data-rove]")];
  if (all.length === 0) return;
  const at = all.indexOf(target);
  const next =
    event.key === "Home" ? 0 : event.key === "End" ? all.length - 1 : Math.min(all.length - 1, Math.max(0, at + (step as number)));
  all[next]?.focus();
  event.preventDefault();
}
