import { useState } from "preact/hooks";
import type { AppState } from "../app/state.ts";
import { visible } from "../text/visible.ts";
import type { WorkspaceState } from "../wire/protocol.ts";
import { usePanel } from "./context.ts";
import { Dialog } from "./dialog.tsx";
import { rove } from "./hooks.ts";
import { Icon, ToneIcon } from "./icon.tsx";

/** The chosen workspace, and a way to another. */
export function WorkspaceSwitcher({ state }: { state: AppState }) {
  const [open, setOpen] = useState(false);
  const chosen = state.workspaces.find((one) => one.root === state.workspace);
  return (
    <>
      <button type="button" class="chip workspace" aria-haspopup="dialog" onClick={() => setOpen(true)}>
        {chosen?.problem != null && <ToneIcon tone="err" word="cannot be used:" />}
        <span class="mono">{chosen === undefined ? "no workspace" : visible(nameOf(chosen))}</span>
        <Icon name="chevron" />
      </button>
      {open && <WorkspaceDialog state={state} onClose={() => setOpen(false)} />}
    </>
  );
}

function nameOf({ name, branch }: WorkspaceState): string {
  return branch == null ? name : `${name} · ${branch}`;
}

function WorkspaceDialog({ state, onClose }: { state: AppState; onClose: () => void }) {
  const panel = usePanel();
  const [path, setPath] = useState("");
  const [problem, setProblem] = useState<string | null>(null);
  const add = async () => {
    const wrong = await panel.openWorkspace(path.trim());
    setProblem(wrong);
    if (wrong === null) onClose();
  };
  return (
    <Dialog title="Workspaces" onClose={onClose}>
      <ul class="workspaces" onKeyDown={rove}>
        {state.workspaces.map((one) => (
          <li key={one.root}>
            <button
              type="button"
              data-rove
              aria-current={one.root === state.workspace ? "true" : undefined}
              onClick={() => {
                panel.choose(one.root);
                onClose();
              }}
            >
              <Icon name="folder" />
              <span>
                <strong>{visible(nameOf(one))}</strong>
                <span class="muted mono path">{visible(one.root)}</span>
                {one.problem != null && <span class="err">{visible(one.problem)}</span>}
              </span>
            </button>
          </li>
        ))}
        {state.workspaces.length === 0 && <li class="muted">The daemon knows no workspace yet.</li>}
      </ul>
      <form
        class="inline-form"
        onSubmit={(event) => {
          event.preventDefault();
          if (path.trim() !== "") void add();
        }}
      >
        <label>
          Open another: a folder in a git repository
          <input type="text" class="mono" placeholder="/home/me/project" value={path} onInput={(event) => setPath(event.currentTarget.value)} />
        </label>
        {problem !== null && (
          <p class="err" role="alert">
            {visible(problem)}
          </p>
        )}
        <div class="buttons">
          <button type="submit" disabled={path.trim() === ""}>
            Open
          </button>
          <button type="button" class="quiet" onClick={onClose}>
            Close
          </button>
        </div>
      </form>
    </Dialog>
  );
}
