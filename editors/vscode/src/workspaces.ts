import { realpathSync } from "node:fs";
import { relative, sep } from "node:path";
import * as vscode from "vscode";
import type { Connection } from "./connection.ts";

/** This window's folders and the repositories that the daemon works in. */
export class Workspaces {
  constructor(private readonly connection: Connection) {}

  /** The folders on this machine's disk, without symbolic links. */
  folders(): { path: string; folder: vscode.WorkspaceFolder }[] {
    const folders = vscode.workspace.workspaceFolders ?? [];
    return folders.filter((folder) => folder.uri.scheme === "file").map((folder) => ({ path: real(folder.uri.fsPath), folder }));
  }

  /** The root of the repository that contains a path; null if the daemon knows none. */
  rootOf(path: string): string | null {
    const roots = this.connection.workspaces.map((workspace) => workspace.root).filter((root) => contains(root, path));
    return roots.sort((one, other) => other.length - one.length)[0] ?? null;
  }

  /** The roots of this window's folders, in their order. */
  roots(): string[] {
    const roots = this.folders().map(({ path }) => this.rootOf(path));
    return [...new Set(roots.filter((root) => root !== null))];
  }

  isOurs(root: string): boolean {
    return this.roots().includes(root);
  }

  /** The address of a file of a repository, in this window's own folders where it is in one. */
  uri(root: string, path: string): vscode.Uri | null {
    const whole = vscode.Uri.joinPath(vscode.Uri.file(root), path).fsPath;
    if (!contains(root, whole)) return null;
    for (const { path: folder, folder: { uri } } of this.folders()) {
      if (contains(folder, whole)) return vscode.Uri.joinPath(uri, relative(folder, whole));
    }
    return vscode.Uri.file(whole);
  }

  /** The workspace that is meant: the one of the active editor, the only one, or the one that the person picks. */
  async choose(purpose: string): Promise<string | null> {
    const editor = vscode.window.activeTextEditor?.document.uri;
    const active = editor?.scheme === "file" ? this.rootOf(real(editor.fsPath)) : null;
    const roots = this.roots();
    if (active !== null && roots.includes(active)) return active;
    if (roots.length === 1) return roots[0] ?? null;
    if (roots.length === 0) {
      await this.explainNone();
      return null;
    }
    const items = roots.map((root) => ({ label: root.split("/").at(-1) ?? root, description: root, root }));
    const picked = await vscode.window.showQuickPick(items, { title: "Checkmate", placeHolder: purpose });
    return picked?.root ?? null;
  }

  private async explainNone(): Promise<void> {
    if (this.folders().length > 0) {
      void vscode.window.showErrorMessage("No folder of this window is in a git repository. Checkmate works in one: run `git init`.");
      return;
    }
    const open = "Open Folder…";
    const answer = await vscode.window.showErrorMessage("Checkmate works in a folder. Open the folder of a repository first.", open);
    if (answer === open) await vscode.commands.executeCommand("vscode.openFolder");
  }
}

function contains(root: string, path: string): boolean {
  return path === root || path.startsWith(root.endsWith(sep) ? root : root + sep);
}

function real(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}
