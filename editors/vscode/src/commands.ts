import * as vscode from "vscode";
import type { Changes } from "./changes.ts";
import type { Connection } from "./connection.ts";
import type { About } from "./diagnostics.ts";
import { History } from "./history.ts";
import type { Panels } from "./panel.ts";
import { goesOn, type Runs } from "./runs.ts";
import { showSettings, type Starter } from "./starter.ts";
import { inLine, inNotification, visible } from "./text.ts";
import { lostText } from "./verdict.ts";
import type { Answer, Event, Message, RunState } from "./wire.ts";
import type { Workspaces } from "./workspaces.ts";

export interface Parts {
  connection: Connection;
  runs: Runs;
  workspaces: Workspaces;
  changes: Changes;
  panels: Panels;
  starter: Starter;
  output: vscode.OutputChannel;
}

/** Everything that the palette and the quick fixes can do: each command is a method here. */
export class Commands {
  private readonly history: History;

  constructor(private readonly parts: Parts) {
    this.history = new History(parts, this);
  }

  register(): vscode.Disposable[] {
    const all: Record<string, (...values: never[]) => unknown> = {
      "checkmate.openPanel": () => this.openPanel(),
      "dualagent.openPanel": () => this.openPanel(),
      "checkmate.runCycle": () => this.runCycle(),
      "checkmate.runTests": () => this.runTests(),
      "checkmate.stopRun": () => this.stopRun(),
      "checkmate.startDaemon": () => this.parts.starter.start(),
      "checkmate.showVerdict": () => this.showVerdict(),
      "checkmate.showChanges": () => this.showChanges(),
      "checkmate.undoRun": () => this.undoRun(),
      "checkmate.showHistory": () => this.showHistory(),
      "checkmate.openSettings": () => this.openSettings(),
      // Of quick fixes only, so the palette does not have them.
      "checkmate.askBuilder": (about: About) => this.askBuilder(about),
      "checkmate.dispute": (about: About) => this.dispute(about),
      "checkmate.showFinding": (about: About) => this.parts.changes.showFile(about.run, about.spot.path),
    };
    return Object.entries(all).map(([name, run]) => vscode.commands.registerCommand(name, run));
  }

  openPanel(): void {
    this.parts.panels.open();
    // A panel that is open already asks for no connection again.
    void this.parts.starter.ensure("panel");
  }

  /** Shows a run in the panel. */
  showInPanel(run: string): void {
    this.parts.panels.open();
    this.parts.panels.post({ host: "show", run });
  }

  async runCycle(follows?: RunState): Promise<void> {
    if (!(await this.connected())) return;
    const workspace = follows?.workspace ?? (await this.parts.workspaces.choose("In which repository?"));
    if (workspace === null) return;
    const request = await vscode.window.showInputBox({
      title: follows === undefined ? "Checkmate: Run Cycle" : `Checkmate: Go on from “${inLine(follows.request, 60)}”`,
      prompt: "What should be changed? The run works on a copy; you are asked before the change reaches your tree.",
      placeHolder: "Add a function to src/math.ts that calculates factorial, with error handling and tests",
      ignoreFocusOut: true,
    });
    if (request === undefined || request.trim() === "") return;
    await this.begin({ type: "run_cycle", request, workspace, attended: true, ...(follows && { follows: follows.run }) });
  }

  /** Sends a message that begins a run or goes on with one, and shows the run in the panel. */
  async begin(message: Message): Promise<void> {
    const event = this.answered(await this.parts.connection.ask(message));
    if (event?.type === "accepted") this.showInPanel(event.run);
  }

  async runTests(): Promise<void> {
    if (!(await this.connected())) return;
    const workspace = await this.parts.workspaces.choose("Whose tests?");
    if (workspace === null) return;
    const event = await vscode.window.withProgress(
      { location: vscode.ProgressLocation.Notification, title: "Checkmate runs the tests on your tree…" },
      () => this.parts.connection.ask({ type: "run_tests", workspace }),
    );
    const told = this.answered(event);
    if (told?.type !== "tests_output") return;
    const { output } = this.parts;
    output.appendLine(`Tests of ${workspace}: ${told.exitCode === 0 ? "green" : `red (exit code ${told.exitCode})`}`);
    for (const text of [told.stdout, told.stderr]) if (text.trim() !== "") output.appendLine(visible(text));
    const show = "Show Output";
    const say = told.exitCode === 0 ? vscode.window.showInformationMessage : vscode.window.showWarningMessage;
    const text = told.exitCode === 0 ? "The tests are green." : `The tests are red (exit code ${told.exitCode}).`;
    if ((await say(text, show)) === show) output.show(true);
  }

  async stopRun(): Promise<void> {
    if (!(await this.connected())) return;
    const run = await this.pick("Which run is to end?", goesOn, "No run goes on.", true);
    if (run !== null) await this.tell({ type: "cancel", run: run.run, reason: "Stopped in VS Code." });
  }

  async showVerdict(): Promise<void> {
    if (!(await this.connected())) return;
    const run = await this.pick("Whose verdict?", () => true, "There is no run yet. `Checkmate: Run Cycle…` begins one.", false);
    if (run !== null) await this.showVerdictOf(run.run);
  }

  async showVerdictOf(run: string): Promise<void> {
    await this.parts.runs.know(run);
    await this.parts.changes.showVerdict(run);
  }

  async showChanges(): Promise<void> {
    if (!(await this.connected())) return;
    const run = await this.pick("Whose change?", () => true, "There is no run yet. `Checkmate: Run Cycle…` begins one.", false);
    if (run !== null) await this.parts.changes.show(run.run);
  }

  async undoRun(): Promise<void> {
    if (!(await this.connected())) return;
    const run = await this.pick("Which change is to be taken back?", (state) => state.landed, "No run's change is in your tree.", false);
    if (run !== null) await this.undo(run);
  }

  async undo(run: RunState): Promise<void> {
    const yes = "Take Back";
    const detail = `${inLine(run.request, 200)}\n\n${run.files.map((file) => inLine(file)).join("\n")}`;
    const answer = await vscode.window.showWarningMessage("Take this change out of your tree again?", { modal: true, detail }, yes);
    if (answer === yes) await this.tell({ type: "undo", run: run.run });
  }

  async showHistory(): Promise<void> {
    if (await this.connected()) await this.history.show();
  }

  async openSettings(): Promise<void> {
    const mine = { label: "Settings of the extension", detail: "Where the program is, its port, whether it is started" };
    const theirs = { label: "Configuration of the repository", detail: ".dualagent.json: agents, tests, paths, strictness" };
    const picked = await vscode.window.showQuickPick([mine, theirs], { title: "Checkmate: Open Settings" });
    if (picked === mine) await showSettings("@ext:checkmate.checkmate");
    if (picked !== theirs || !(await this.connected())) return;
    const workspace = await this.parts.workspaces.choose("Whose configuration?");
    if (workspace === null) return;
    const event = this.answered(await this.parts.connection.ask({ type: "get_configuration", workspace }));
    if (event?.type !== "configuration") return;
    if (event.text !== null) {
      await vscode.window.showTextDocument(vscode.Uri.file(event.path));
      return;
    }
    this.openPanel();
    this.parts.panels.post({ host: "settings" });
    void vscode.window.showInformationMessage("This repository has no .dualagent.json yet. `checkmate init` writes a good one.");
  }

  private async askBuilder({ run, spot, description }: About): Promise<void> {
    const state = this.parts.runs.get(run);
    if (state === undefined) return;
    const text = await vscode.window.showInputBox({
      title: "Checkmate: Ask the builder",
      prompt: goesOn(state) ? "The builder reads it at its next turn." : "This run is over: a new run goes on from it.",
      placeHolder: `About: ${inLine(description)}`,
      ignoreFocusOut: true,
    });
    if (text === undefined || text.trim() === "") return;
    if (goesOn(state)) {
      await this.tell({ type: "comment", run, text: `${text}\n\nAbout the finding: ${description}`, path: spot.path, line: spot.line });
      return;
    }
    const request = `${text}\n\nAbout the finding “${description}” (${spot.path}:${spot.line})`;
    await this.begin({ type: "run_cycle", request, workspace: state.workspace, attended: true, follows: run });
  }

  private async dispute({ run, id, description }: About): Promise<void> {
    const text = await vscode.window.showInputBox({
      title: "Checkmate: Dispute a finding",
      prompt: `Why does it not stand? ${inLine(description, 200)}`,
      ignoreFocusOut: true,
    });
    if (text === undefined || text.trim() === "") return;
    if (await this.tell({ type: "dispute", run, finding: id, text })) this.parts.runs.disputed(run, id);
  }

  /** Sends a message and says what became of it. */
  async tell(message: Message): Promise<boolean> {
    const event = this.answered(await this.parts.connection.ask(message));
    if (event?.type === "done" && event.message !== "") void vscode.window.showInformationMessage(inNotification(event.message, 400));
    return event !== null;
  }

  /** Says why something came to nothing. */
  private answered(event: Answer): Event | null {
    if (event.type === "lost") {
      void vscode.window.showErrorMessage(lostText(event.sent));
      return null;
    }
    if (event.type !== "error") return event;
    void vscode.window.showErrorMessage(inNotification(event.error, 600));
    return null;
  }

  /** Whether there is a connection; if there is none, the person is told why. */
  private connected(): Promise<boolean> {
    return this.parts.starter.ensure("command");
  }

  private async pick(purpose: string, fits: (state: RunState) => boolean, none: string, single: boolean): Promise<RunState | null> {
    const runs = this.parts.runs.list().filter(fits);
    const [first] = runs;
    if (first === undefined) {
      void vscode.window.showInformationMessage(none);
      return null;
    }
    return single && runs.length === 1 ? first : this.history.pick(purpose, runs);
  }
}
