import * as vscode from "vscode";
import type { Connection } from "./connection.ts";
import { goesOn, type Runs } from "./runs.ts";
import { dollars, inLine, withoutIcons } from "./text.ts";
import { messageOf, standingText } from "./verdict.ts";
import type { RunState, Standing } from "./wire.ts";

const ICONS: Record<Standing, string> = {
  queued: "$(clock)",
  running: "$(loading~spin)",
  waiting: "$(bell-dot)",
  interrupted: "$(debug-pause)",
  approved: "$(pass)",
  applied: "$(pass)",
  not_approved: "$(circle-slash)",
  error: "$(error)",
};

/** The item in the status bar: the connection, or the run that matters most. */
export class StatusItem {
  private readonly item = vscode.window.createStatusBarItem("checkmate", vscode.StatusBarAlignment.Left, 20);

  constructor(
    private readonly connection: Connection,
    private readonly runs: Runs,
  ) {
    this.item.name = "Checkmate";
    this.item.command = "checkmate.openPanel";
    this.update();
    this.item.show();
  }

  dispose(): void {
    this.item.dispose();
  }

  update(): void {
    const { state } = this.connection;
    this.item.backgroundColor = undefined;
    if (state.phase !== "open") {
      this.item.text = state.phase === "connecting" ? "$(sync~spin) Checkmate" : "$(debug-disconnect) Checkmate";
      this.item.tooltip = state.phase === "connecting" ? "Connecting to the daemon of Checkmate" : `Disconnected. ${state.why.reason}`;
      this.item.accessibilityInformation = { label: `Checkmate: ${state.phase === "closed" ? "disconnected" : "connecting"}` };
      return;
    }
    const ours = this.runs.list();
    const run = ours.find((one) => one.standing === "waiting") ?? ours.find(goesOn) ?? ours[0];
    this.item.text = run === undefined ? "$(pass) Checkmate" : this.text(run);
    const about = run === undefined ? "" : `\n${inLine(run.request)}\n${inLine(messageOf(run), 300)}`;
    // A plain text: nothing in it is markdown.
    this.item.tooltip = `Connected to daemon at ${state.address} (${state.program})${about}`.trimEnd();
    this.item.accessibilityInformation = { label: `Checkmate: ${run === undefined ? "connected" : standingText(run)}` };
    if (run?.standing === "waiting") this.item.backgroundColor = new vscode.ThemeColor("statusBarItem.warningBackground");
  }

  private text(run: RunState): string {
    const cost = dollars(run.usage.cost_micro_usd);
    const parts = [standingText(run)];
    if (goesOn(run)) parts.push(`turn ${run.turn}/${run.of}`);
    if (cost !== "") parts.push(cost);
    return `${ICONS[run.standing] ?? "$(pass)"} Checkmate: ${withoutIcons(parts.join(" · "))}`;
  }
}
