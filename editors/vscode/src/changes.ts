import * as vscode from "vscode";
import type { Connection } from "./connection.ts";
import type { OpenQuestion, Runs } from "./runs.ts";
import { inLine } from "./text.ts";
import { commandPage, verdictText } from "./verdict.ts";
import type { Side } from "./wire.ts";

export const SCHEME = "checkmate";
type Page = Side | "verdict" | "command";

/** The address of a file as a run has it. */
export function fileUri(run: string, path: string, side: Page, more: Record<string, string> = {}): vscode.Uri {
  return vscode.Uri.from({ scheme: SCHEME, path: `/${path}`, query: new URLSearchParams({ run, side, ...more }).toString() });
}

/** Shows what runs hold in VS Code's own editors: files before and after, and verdicts. */
export class Changes implements vscode.TextDocumentContentProvider {
  private readonly emitter = new vscode.EventEmitter<vscode.Uri>();
  readonly onDidChange = this.emitter.event;

  constructor(
    private readonly connection: Connection,
    private readonly runs: Runs,
  ) {}

  async provideTextDocumentContent(uri: vscode.Uri): Promise<string> {
    const { run, path, side, gate } = partsOf(uri);
    if (side === "verdict") {
      const state = this.runs.get(run);
      if (state === undefined) throw new Error("This run is not known; connect to the daemon that drove it.");
      return verdictText(state, this.runs.model(run));
    }
    if (side === "command") {
      const question = this.runs.model(run)?.questions.get(gate);
      return question === undefined ? "This question is answered already, or its run went on.\n" : commandPage(question);
    }
    const event = await this.connection.ask({ type: "read_file", run, path, side });
    if (event.type === "file") return event.text ?? "";
    throw new Error(event.type === "error" ? event.error : "There is no connection to the daemon.");
  }

  /** What is open of a run is read again. */
  refresh(run: string): void {
    for (const { uri } of vscode.workspace.textDocuments) {
      if (uri.scheme === SCHEME && partsOf(uri).run === run && partsOf(uri).side !== "base") this.emitter.fire(uri);
    }
  }

  /** Opens the diff editor for a file of a run. */
  async showFile(run: string, path: string): Promise<void> {
    const [before, after] = [fileUri(run, path, "base"), fileUri(run, path, "candidate")];
    await vscode.commands.executeCommand("vscode.diff", before, after, `${path.split("/").at(-1)} (run ${run})`, { preview: true });
  }

  /** Opens a run's whole change: the diff editor for one file, the editor of several diffs for more. */
  async show(run: string): Promise<void> {
    const files = this.files(run);
    const [first] = files;
    if (first === undefined) {
      void vscode.window.showInformationMessage(`The run ${run} has changed no file so far.`);
      return;
    }
    if (files.length === 1) return this.showFile(run, first);
    const request = this.runs.get(run)?.request ?? "";
    const rows = files.map((path) => {
      const [before, after] = [fileUri(run, path, "base"), fileUri(run, path, "candidate")];
      return [after, before, after];
    });
    await vscode.commands.executeCommand("vscode.changes", `Change: ${inLine(request, 60)} (run ${run})`, rows);
  }

  /** Opens the verdict of a run as a page of text. */
  async showVerdict(run: string): Promise<void> {
    const uri = fileUri(run, `Verdict of ${run}`, "verdict");
    this.emitter.fire(uri);
    const document = await vscode.workspace.openTextDocument(uri);
    await vscode.window.showTextDocument(document, { preview: true });
  }

  /** Opens the command that a question is about as a page of text. True if all of it is there to read. */
  async showCommand(question: OpenQuestion): Promise<boolean> {
    const uri = fileUri(question.run, `Command of ${question.run}`, "command", { gate: question.gate });
    const document = await vscode.workspace.openTextDocument(uri);
    await vscode.window.showTextDocument(document, { preview: true });
    return document.getText() === commandPage(question);
  }

  private files(run: string): string[] {
    const files = this.runs.get(run)?.files ?? [];
    return files.length > 0 ? files : (this.runs.model(run)?.patch?.paths ?? []);
  }
}

/** The run that an address names. */
export function runOf(uri: vscode.Uri): string {
  return partsOf(uri).run;
}

function partsOf(uri: vscode.Uri): { run: string; path: string; side: Page; gate: string } {
  const query = new URLSearchParams(uri.query);
  const side = query.get("side");
  return {
    run: query.get("run") ?? "",
    path: uri.path.replace(/^\//, ""),
    side: side === "base" || side === "verdict" || side === "command" ? side : "candidate",
    gate: query.get("gate") ?? "",
  };
}
