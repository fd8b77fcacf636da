import { statSync } from "node:fs";
import { join } from "node:path";
import * as vscode from "vscode";
import { fileUri } from "./changes.ts";
import type { StandingFinding } from "./findings.ts";
import { fileOf, locate, type Spot } from "./locate.ts";
import type { RunModel, Runs } from "./runs.ts";
import { inLine, visible } from "./text.ts";
import type { RunState, Severity } from "./wire.ts";
import type { Workspaces } from "./workspaces.ts";

const SEVERITIES: Record<Severity, vscode.DiagnosticSeverity> = {
  critical: vscode.DiagnosticSeverity.Error,
  major: vscode.DiagnosticSeverity.Warning,
  minor: vscode.DiagnosticSeverity.Information,
};

/** What a quick fix is about. */
export interface About {
  run: string;
  id: string;
  named: boolean;
  description: string;
  /** Where the run has it. */
  spot: Spot;
}

interface Placed {
  diagnostic: vscode.Diagnostic;
  about: About;
}

/** The findings that stand and name a line, as diagnostics: in the working tree, and in the run's own version of the file. */
export class Diagnostics implements vscode.CodeActionProvider {
  private readonly collection = vscode.languages.createDiagnosticCollection("checkmate");
  private readonly placed = new Map<string, Placed[]>();
  private readonly byRun = new Map<string, string[]>();

  constructor(
    private readonly runs: Runs,
    private readonly workspaces: Workspaces,
  ) {}

  dispose(): void {
    this.collection.dispose();
  }

  /** Shows what stands in a run; only the latest run of a workspace has something to say about its files. */
  update(model: RunModel): void {
    const state = this.runs.get(model.run);
    if (state === undefined || !this.workspaces.isOurs(state.workspace)) return;
    const latest = this.runs.latest(state.workspace);
    if (latest?.run !== model.run) {
      this.clear(model.run);
      return;
    }
    for (const run of [...this.byRun.keys()]) {
      const isOlder = run !== model.run && this.runs.get(run)?.workspace === state.workspace;
      if (isOlder) this.clear(run);
    }
    this.clear(model.run);
    for (const finding of model.findings.standing()) this.place(finding, state, model);
    this.publish(model.run);
  }

  provideCodeActions(document: vscode.TextDocument, _: vscode.Range, context: vscode.CodeActionContext): vscode.CodeAction[] {
    const placed = this.placed.get(document.uri.toString()) ?? [];
    return context.diagnostics.flatMap((diagnostic) => {
      const same = placed.find((one) => one.diagnostic.code === diagnostic.code && one.diagnostic.message === diagnostic.message);
      return diagnostic.source === "Checkmate" && same !== undefined ? actions(diagnostic, same.about) : [];
    });
  }

  private place(finding: StandingFinding, state: RunState, model: RunModel): void {
    const { issue, id, named } = finding;
    const changed = state.files.length > 0 ? state.files : (model.patch?.paths ?? []);
    const known = (mention: string) => fileOf(mention, changed, (path) => isFile(join(state.workspace, path)));
    const spots = locate(`${issue.description}\n${issue.how_to_verify ?? ""}`, known);
    const [spot] = spots;
    if (spot === undefined) return;
    const how = issue.how_to_verify == null ? "" : `\nTo see it: ${visible(issue.how_to_verify)}`;
    const make = (line: number) => {
      const range = new vscode.Range(line - 1, 0, line - 1, 1000);
      const diagnostic = new vscode.Diagnostic(range, `${visible(issue.description)}${how}`, SEVERITIES[issue.severity] ?? vscode.DiagnosticSeverity.Information);
      diagnostic.source = "Checkmate";
      diagnostic.code = inLine(named ? id : "reviewer", 60);
      diagnostic.relatedInformation = spots.slice(1).map((other) => {
        const place = new vscode.Position(other.line - 1, 0);
        return new vscode.DiagnosticRelatedInformation(
          new vscode.Location(fileUri(state.run, other.path, "candidate"), place),
          "The finding names this line too.",
        );
      });
      return diagnostic;
    };
    const about: About = { run: state.run, id, named, description: issue.description, spot };
    const put = (uri: vscode.Uri, line: number) => {
      const key = uri.toString();
      this.placed.set(key, [...(this.placed.get(key) ?? []), { diagnostic: make(line), about }]);
      this.byRun.set(state.run, [...new Set([...(this.byRun.get(state.run) ?? []), key])]);
    };
    const theirs = fileUri(state.run, spot.path, "candidate");
    const uri = this.workspaces.uri(state.workspace, spot.path);
    const isInTree = uri !== null && isFile(uri.fsPath);
    // Nobody wants to read everything twice; in an open diff it belongs beside the line.
    const isOpen = vscode.workspace.textDocuments.some((document) => document.uri.toString() === theirs.toString());
    if (isOpen || !isInTree) put(theirs, spot.line);
    // Before it lands, the tree has other lines than the change.
    if (isInTree) put(uri, state.landed ? spot.line : (model.patch?.before(spot.path, spot.line) ?? spot.line));
  }

  private publish(run: string): void {
    for (const key of this.byRun.get(run) ?? []) {
      this.collection.set(vscode.Uri.parse(key, true), (this.placed.get(key) ?? []).map((one) => one.diagnostic));
    }
  }

  private clear(run: string): void {
    for (const key of this.byRun.get(run) ?? []) {
      const rest = (this.placed.get(key) ?? []).filter((one) => one.about.run !== run);
      this.placed.set(key, rest);
      this.collection.set(vscode.Uri.parse(key, true), rest.map((one) => one.diagnostic));
    }
    this.byRun.delete(run);
  }
}

function actions(diagnostic: vscode.Diagnostic, about: About): vscode.CodeAction[] {
  const make = (title: string, command: string) => {
    const action = new vscode.CodeAction(title, vscode.CodeActionKind.QuickFix);
    action.diagnostics = [diagnostic];
    action.command = { title, command, arguments: [about] };
    return action;
  };
  const all = [make("Ask the builder…", "checkmate.askBuilder")];
  if (about.named) all.push(make("Dispute…", "checkmate.dispute"));
  all.push(make("Show the change", "checkmate.showFinding"));
  return all;
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true;
}
