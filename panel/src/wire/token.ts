const KEY = "checkmate.token";

/** Takes the token out of the page's address, where `checkmate` put it, and keeps it for this tab. */
export function takeToken(): string | null {
  const parameters = new URLSearchParams(location.hash.replace(/^#/, ""));
  const given = parameters.get("token");
  if (given === null) return read();
  parameters.delete("token");
  const rest = parameters.toString();
  history.replaceState(null, "", location.pathname + location.search + (rest === "" ? "" : `#${rest}`));
  try {
    sessionStorage.setItem(KEY, given);
  } catch {
    // A page without storage keeps it as long as it is open.
  }
  return given;
}

function read(): string | null {
  try {
    return sessionStorage.getItem(KEY);
  } catch {
    return null;
  }
}
