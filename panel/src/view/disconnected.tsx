import type { Connection } from "../app/state.ts";
import { usePanel } from "./context.ts";
import { useNow } from "./hooks.ts";
import { Rich } from "./text.tsx";

/** What to do when there is no daemon. What was shown stays, and goes on when it is back. */
export function Disconnected({ connection }: { connection: Connection }) {
  const panel = usePanel();
  const now = useNow(connection.phase === "closed", 500);
  if (connection.phase === "refused") {
    return (
      <section class="disconnected" role="alert" aria-label="Disconnected">
        <div>
          <p>
            <strong>The daemon does not talk to this panel.</strong> <Rich text={connection.error} />
          </p>
          <p class="muted">Panel and daemon may be of different versions: load the page again from the daemon that runs.</p>
        </div>
        <div class="buttons">
          <button type="button" onClick={() => panel.retry()}>
            Try now
          </button>
        </div>
      </section>
    );
  }
  if (connection.phase !== "closed") return null;
  const { address, refused, retryAt } = connection.why;
  const seconds = retryAt === null ? null : Math.max(0, Math.ceil((retryAt - now) / 1000));
  return (
    <section class="disconnected" role="alert" aria-label="Disconnected">
      <div>
        <p>
          <strong>{refused ? "The daemon does not let this page in" : "No connection to the daemon"}</strong> at <code>{address.replace("127.0.0.1", "localhost").replace(/\/(\?.*)?$/, "")}</code>.
        </p>
        <p class="muted">
          {refused ? (
            <>
              The token in the page's address is missing or wrong. <code>checkmate serve</code> tells the address with the token; it
              is in the file <code>daemon/token</code> of Checkmate's state folder.
            </>
          ) : (
            <>
              Start it with <code>checkmate serve</code>.
            </>
          )}{" "}
          Nothing is lost: runs go on without this page.
        </p>
      </div>
      <div class="buttons">
        <span class="muted number" aria-hidden="true">
          {seconds === null || seconds === 0 ? "trying…" : `again in ${seconds} s`}
        </span>
        <button type="button" onClick={() => panel.retry()}>
          Try now
        </button>
      </div>
    </section>
  );
}
