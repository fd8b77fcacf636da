import type { Connection } from "../app/state.ts";
import { usePanel } from "./context.ts";
import { useNow } from "./hooks.ts";

/** What to do when there is no daemon. What was shown stays, and goes on when it is back. */
export function Disconnected({ connection }: { connection: Connection }) {
  const panel = usePanel();
  const now = useNow(connection.phase === "closed", 500);
  if (connection.phase !== "closed") return null;
  const { address, refused, retryAt } = connection.why;
  const seconds = retryAt === null ? null : Math.max(0, Math.ceil((retryAt - now) / 1000));
  return (
    <section class="disconnected" role="alert" aria-label="Disconnected">
      <div>
        <p>
          <strong>No connection to the daemon</strong> at <code>{address.replace("127.0.0.1", "localhost").replace(/\/(\?.*)?$/, "")}</code>.
        </p>
        <p class="muted">
          Start it with <code>checkmate serve</code>.
          {refused && (
            <>
              {" "}
              If it runs, open the address that it prints: it carries the token without which nobody is let in.
            </>
          )}{" "}
          Nothing is lost: runs go on without this page.
        </p>
      </div>
      <div class="buttons">
        <span class="muted number" aria-hidden="true">
          {seconds === null || seconds === 0 ? "trying…" : `again in ${seconds} s`}
        </span>
        <button type="button" onClick={() => panel.transport.retry()}>
          Try now
        </button>
      </div>
    </section>
  );
}
