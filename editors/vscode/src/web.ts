import * as vscode from "vscode";
import manifest from "../package.json" with { type: "json" };

const TEXT =
  "Checkmate talks to a daemon on your machine, which a window in the browser cannot reach. Open this folder in VS Code " +
  "on the desktop or in a remote window.";

/** Begins the extension in a browser without a machine behind it: every command says what it needs. */
export function activate(context: vscode.ExtensionContext): void {
  const say = async () => {
    const open = "Continue on Desktop…";
    if ((await vscode.window.showInformationMessage(TEXT, open)) === open) {
      await vscode.commands.executeCommand("workbench.action.continueOn");
    }
  };
  for (const { command } of manifest.contributes.commands) {
    context.subscriptions.push(vscode.commands.registerCommand(command, say));
  }
  const view: vscode.WebviewViewProvider = {
    resolveWebviewView: ({ webview }) => {
      webview.html = `<!doctype html><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="default-src 'none'"><p>${TEXT}</p>`;
    },
  };
  context.subscriptions.push(vscode.window.registerWebviewViewProvider("checkmate.panel", view));
}
