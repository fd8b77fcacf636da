import * as vscode from "vscode";
import { amountText, LIMITS, readAmount } from "./budget.ts";
import type { Commands, Parts } from "./commands.ts";
import { type Deed, possible } from "./runs.ts";
import { dollars, inLine, withoutIcons } from "./text.ts";
import { messageOf, standingText } from "./verdict.ts";
import type { Limits, RunState } from "./wire.ts";

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
      if (event.type !== "found") return;
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
    // It may have gone on while the list was open.
    const now = parts.runs.get(run) ?? state;
    const actions: (vscode.QuickPickItem & { act: () => Promise<unknown> | void })[] = [
      { label: "$(open-preview) Show in the panel", act: () => commands.showInPanel(run) },
      { label: "$(checklist) Show the verdict", act: () => commands.showVerdictOf(run) },
    ];
    if (state.files.length > 0) actions.push({ label: "$(diff) Show the change", act: () => parts.changes.show(run) });
    const deeds: Record<Deed, (typeof actions)[number]> = {
      stop: { label: "$(debug-stop) Stop", act: () => commands.tell({ type: "cancel", run, reason: "Stopped in VS Code." }) },
      resume: { label: "$(debug-continue) Resume", act: () => commands.begin({ type: "resume", run }) },
      raise: { label: "$(debug-continue) Resume with a larger budget…", act: () => this.raise(state) },
      land: { label: "$(desktop-download) Bring into my tree", act: () => commands.begin({ type: "land", run, how: "apply" }) },
      undo: { label: "$(discard) Undo…", act: () => commands.undo(state) },
      follow: { label: "$(arrow-right) Go on from it…", act: () => commands.runCycle(state) },
    };
    actions.push(...possible(now).map((deed) => deeds[deed]));
    const picked = await vscode.window.showQuickPick(actions, { title: `Checkmate: ${inLine(state.request, 80)}` });
    await picked?.act();
  }

  /** Asks for a larger budget, limit by limit, and goes on with a run that came to the end of its own. */
  private async raise(state: RunState): Promise<void> {
    await this.parts.runs.know(state.run);
    const before = this.parts.runs.model(state.run)?.budget ?? {};
    const budget: Limits = {};
    for (;;) {
      const isLarger = Object.keys(budget).length > 0;
      const go = { label: "$(debug-continue) Resume with this budget", limit: null };
      // Those that the run has come first: one of them was reached.
      const inOrder = [...LIMITS].sort((one, other) => Number(before[other.key] != null) - Number(before[one.key] != null));
      const rows = inOrder.map((limit) => {
        const [old, now] = [before[limit.key], budget[limit.key]];
        const began = old == null ? "no limit" : `began with ${amountText(limit, old)}`;
        return { label: limit.label, description: now == null ? began : `${began}, now ${amountText(limit, now)}`, limit };
      });
      const picked = await vscode.window.showQuickPick(isLarger ? [go, ...rows] : rows, {
        title: `Checkmate: A larger budget for “${inLine(state.request, 60)}”`,
        placeHolder: inLine(messageOf(state), 200),
        ignoreFocusOut: true,
      });
      if (picked === undefined) return;
      const { limit } = picked;
      if (limit === null) return this.commands.begin({ type: "resume", run: state.run, budget });
      const old = before[limit.key];
      const text = await vscode.window.showInputBox({
        title: `Checkmate: ${limit.label}`,
        prompt: "The most that the whole run may use, with what it has used so far.",
        value: old == null ? "" : amountText(limit, old * 2),
        validateInput: (value) => {
          const amount = readAmount(limit, value, old);
          return typeof amount === "string" ? amount : null;
        },
        ignoreFocusOut: true,
      });
      const amount = text === undefined ? "" : readAmount(limit, text, old);
      if (typeof amount === "number") budget[limit.key] = amount;
    }
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
