const PREFIX = "checkmate.";

/** What was remembered for this tab. */
export function recall(name: string): string | null {
  try {
    return sessionStorage.getItem(PREFIX + name);
  } catch {
    return null;
  }
}

/** Remembers something for this tab, as long as it is open. */
export function remember(name: string, value: string | null): void {
  try {
    if (value === null) sessionStorage.removeItem(PREFIX + name);
    else sessionStorage.setItem(PREFIX + name, value);
  } catch {
    // Without storage the panel begins anew after a reload.
  }
}
