import * as vscode from "vscode";
import { Changes, runOf, SCHEME } from "./changes.ts";
import { Commands } from "./commands.ts";
import { Connection } from "./connection.ts";
import { Diagnostics } from "./diagnostics.ts";
import { Panels } from "./panel.ts";
import { Questions } from "./questions.ts";
import { Runs } from "./runs.ts";
import { place, Starter } from "./starter.ts";
import { StatusItem } from "./status.ts";
import { Workspaces } from "./workspaces.ts";

/** Begins the extension in a desktop or remote window. */
export function activate(context: vscode.ExtensionContext): void {
  const connection = new Connection({
    find: place,
    folders: () => workspaces.folders().map(({ path }) => path),
    permitted: () => vscode.workspace.isTrusted,
  });
  const workspaces = new Workspaces(connection);
  const runs = new Runs(
    (message) => connection.ask(message),
    (root) => workspaces.isOurs(root),
  );
  const changes = new Changes(connection, runs);
  const starter = new Starter(connection, () => workspaces.folders().map(({ path }) => path), context.logUri);
  const panels = new Panels({ extension: context.extensionUri, connection, workspaces, changes, wanted: () => void starter.ensure("panel") });
  const output = vscode.window.createOutputChannel("Checkmate");
  const status = new StatusItem(connection, runs);
  const diagnostics = new Diagnostics(runs, workspaces);
  const questions = new Questions(connection, runs, changes);

  const begin = async () => {
    await connection.openFolders();
    await runs.begin(workspaces.roots());
  };
  /** A file as a run has it was opened or closed: findings are shown in it, or not any more. */
  const again = ({ uri }: vscode.TextDocument) => {
    const model = uri.scheme === SCHEME ? runs.model(runOf(uri)) : undefined;
    if (model !== undefined) diagnostics.update(model);
  };
  context.subscriptions.push(
    connection,
    output,
    status,
    diagnostics,
    connection.frames.add((frame) => runs.take(frame)),
    connection.changed.add((state) => {
      void vscode.commands.executeCommand("setContext", "checkmate.connected", state.phase === "open");
      if (state.phase === "open") void runs.begin(workspaces.roots());
      else runs.pause();
      status.update();
    }),
    runs.told.add((model) => {
      questions.update(model);
      diagnostics.update(model);
      changes.refresh(model.run);
    }),
    runs.changed.add((state) => {
      status.update();
      const model = state === null ? undefined : runs.model(state.run);
      if (model !== undefined) diagnostics.update(model);
    }),
    vscode.workspace.onDidOpenTextDocument((document) => again(document)),
    vscode.workspace.onDidCloseTextDocument((document) => again(document)),
    vscode.window.onDidChangeWindowState(({ focused }) => {
      if (focused) questions.remind();
    }),
    vscode.workspace.registerTextDocumentContentProvider(SCHEME, changes),
    vscode.languages.registerCodeActionsProvider([{ scheme: "file" }, { scheme: SCHEME }], diagnostics, {
      providedCodeActionKinds: [vscode.CodeActionKind.QuickFix],
    }),
    vscode.workspace.onDidChangeWorkspaceFolders(() => {
      if (connection.isOpen) void begin();
    }),
    vscode.workspace.onDidGrantWorkspaceTrust(() => void connection.connect()),
    vscode.workspace.onDidChangeConfiguration((change) => {
      if (change.affectsConfiguration("checkmate")) void connection.moved();
    }),
    ...panels.register(),
    ...new Commands({ connection, runs, workspaces, changes, panels, starter, output }).register(),
  );
  // A daemon that is there is used; one that is not is started only when somebody wants it.
  void connection.connect();
}
