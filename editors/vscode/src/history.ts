import * as vscode from "vscode";
import type { Commands, Parts } from "./commands.ts";
import { goesOn } from "./runs.ts";
import { dollars, inLine, withoutIcons } from "./text.ts";
import { messageOf, standingText } from "./verdict.ts";
import type { RunState } from "./wire.ts";

const SEARCH_PAUSE_MS = 150;

type Row = vscode.QuickPickItem & { state: RunState };

/** The runs of this window's workspaces in a list that can be searched, and what can be done with each. */
export class History {
  constructor(
    private readonly parts: Parts,
    private readonly commands: Commands,
  ) {}

  /** Lets the person pick one of these. */
  async pick(purpose: string, runs: RunState[]): Promise<RunState | null> {
    const options = { title: "Checkmate", placeHolder: purpose, matchOnDetail: true, matchOnDescription: true };
    return (await vscode.window.showQuickPick(runs.map((state) => row(state)), options))?.state ?? null;
  }

  async show(): Promise<void> {
    const state = await this.search();
    if (state !== null) await this.act(state);
  }

  private search(): Promise<RunState | null> {
    const list = vscode.window.createQuickPick<Row>();
    list.title = "Checkmate: History";
    list.placeholder = "Words of a request, a plan, a change, a review or an outcome";
    list.matchOnDetail = true;
    list.matchOnDescription = true;
    const known = this.parts.runs.list().map((state) => row(state));
    list.items = known;
    let timer: NodeJS.Timeout | undefined;
    const find = async (query: string) => {
      list.busy = true;
      const event = await this.parts.connection.ask({ type: "search", query });
      if (list.value !== query) return;
      list.busy = false;
      if (event?.type !== "found") return;
      const hits = event.hits.filter(({ state }) => this.parts.workspaces.isOurs(state.workspace));
      // What the daemon found is shown even where the words stand in what the row does not say.
      list.items = hits.map(({ state, excerpt }) => ({ ...row(state, excerpt), alwaysShow: true }));
    };
    return new Promise((keep) => {
      list.onDidChangeValue((value) => {
        clearTimeout(timer);
        if (value.trim() === "") list.items = known;
        else timer = setTimeout(() => void find(value), SEARCH_PAUSE_MS);
      });
      list.onDidAccept(() => {
        keep(list.selectedItems[0]?.state ?? null);
        list.hide();
      });
      list.onDidHide(() => {
        clearTimeout(timer);
        keep(null);
        list.dispose();
      });
      list.show();
    });
  }

  private async act(state: RunState): Promise<void> {
    const { commands, parts } = this;
    const { run } = state;
    const actions: (vscode.QuickPickItem & { act: () => Promise<unknown> | void })[] = [
      { label: "$(open-preview) Show in the panel", act: () => commands.showInPanel(run) },
      { label: "$(checklist) Show the verdict", act: () => commands.showVerdictOf(run) },
    ];
    if (state.files.length > 0) actions.push({ label: "$(diff) Show the change", act: () => parts.changes.show(run) });
    if (goesOn(state)) {
      const stop = { type: "cancel", run, reason: "Stopped in VS Code." } as const;
      actions.push({ label: "$(debug-stop) Stop", act: () => commands.tell(stop) });
    }
    if (state.standing === "interrupted" || state.standing === "error") {
      actions.push({ label: "$(debug-continue) Resume", act: () => commands.begin({ type: "resume", run }) });
    }
    if (state.standing === "approved" && !state.landed) {
      const land = { type: "land", run, how: "apply" } as const;
      actions.push({ label: "$(desktop-download) Bring into my tree", act: () => commands.begin(land) });
    }
    if (state.landed) actions.push({ label: "$(discard) Undo…", act: () => commands.undo(state) });
    if (!goesOn(state)) actions.push({ label: "$(arrow-right) Go on from it…", act: () => commands.runCycle(state) });
    const picked = await vscode.window.showQuickPick(actions, { title: `Checkmate: ${inLine(state.request, 80)}` });
    await picked?.act();
  }
}

function row(state: RunState, excerpt = ""): Row {
  const began = new Date(state.began);
  const when = Number.isNaN(began.getTime()) ? "" : began.toLocaleString();
  const parts = [standingText(state), when, dollars(state.usage.cost_micro_usd), state.run];
  const detail = excerpt === "" ? inLine(messageOf(state), 160) : inLine(excerpt, 160);
  return {
    label: withoutIcons(inLine(state.request, 100)),
    description: parts.filter((part) => part !== "").join(" · "),
    detail: withoutIcons(detail),
    state,
  };
}
