import type { AppState, Connection } from "../app/state.ts";
import type { RunModel } from "../model/run.ts";
import { count, money } from "../text/format.ts";
import type { RunState } from "../wire/protocol.ts";
import { RunActions } from "./actions.tsx";
import { usePanel } from "./context.ts";
import { Icon, Logo } from "./icon.tsx";
import { WorkspaceSwitcher } from "./workspaces.tsx";

/** Where one is, whether the daemon is there, and what can be done with the shown run. */
export function Header(props: { state: AppState; model: RunModel; run: RunState | undefined; narrow: boolean; folded: boolean; listOpen: boolean; onList: () => void }) {
  const { state, model, run, narrow, folded, listOpen, onList } = props;
  const panel = usePanel();
  const online = state.connection.phase === "open";
  const { total } = model;
  return (
    <header class="top">
      {folded && (
        <button type="button" class="plain" aria-expanded={listOpen} aria-label="Runs" onClick={onList}>
          <Icon name="list" />
        </button>
      )}
      <Logo />
      <h1>Checkmate</h1>
      <WorkspaceSwitcher state={state} />
      <ConnectionChip connection={state.connection} />
      <span class="space" />
      {!narrow && state.shown !== null && model.turn > 0 && (
        <span class="chip number">
          turn {model.turn} / {model.of}
        </span>
      )}
      {!narrow && state.shown !== null && total !== null && (
        <span class="chip number">
          {total.cost_micro_usd != null && `${money(total.cost_micro_usd)} · `}
          {count(total.input_tokens + total.output_tokens)} tokens
        </span>
      )}
      {state.shown !== null && (model.started !== null || run !== undefined) && <RunActions model={model} state={run} online={online} />}
      <button
        type="button"
        class="plain"
        aria-label="Settings"
        aria-pressed={state.configuration !== null}
        disabled={!online || state.workspace === null}
        onClick={() => (state.configuration === null ? void panel.configuration.open() : panel.configuration.leave(() => {}))}
      >
        <Icon name="gear" />
      </button>
    </header>
  );
}

function ConnectionChip({ connection }: { connection: Connection }) {
  const words = { connecting: "connecting", open: "connected", refused: "refused", closed: "disconnected" }[connection.phase];
  return (
    <span class={`chip connection ${connection.phase === "refused" ? "closed" : connection.phase}`} role="status">
      <span class="dot" aria-hidden="true" />
      <span class="connection-word">{words}</span>
    </span>
  );
}
