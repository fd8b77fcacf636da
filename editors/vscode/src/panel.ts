import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import * as vscode from "vscode";
import type { Changes } from "./changes.ts";
import type { Connection, ConnectionState } from "./connection.ts";
import { NO_PANEL, webviewPage } from "./page.ts";
import { Socket } from "./socket.ts";
import type { Workspaces } from "./workspaces.ts";

export const VIEW = "checkmate.panel";

/** What the panel posts to the extension: panel/src/wire/vscode.ts has the other side. */
type FromPanel =
  | { panel: "ready" }
  | { panel: "retry" }
  | { panel: "send"; text: string }
  | { panel: "open_file"; workspace: string; path: string; line: number }
  | { panel: "open_diff"; run: string; path: string };

/** What a panel is told besides frames; one that does not know it passes it over. */
type Wish = { host: "show"; run: string } | { host: "settings" };

export interface PanelParts {
  extension: vscode.Uri;
  connection: Connection;
  workspaces: Workspaces;
  changes: Changes;
  /** Somebody wants a connection: the daemon may be started for it. */
  wanted(): void;
}

/** A panel in a webview, with a connection to the daemon of its own. Frames pass through as they are. */
class Bridge {
  private socket: Socket | null = null;
  private ready = false;
  /** What was wanted before the panel could hear it. */
  private wish: Wish | null = null;
  private again: NodeJS.Timeout | undefined;
  private readonly subscriptions: { dispose(): void }[];

  constructor(
    private readonly webview: vscode.Webview,
    private readonly parts: PanelParts,
  ) {
    this.subscriptions = [
      webview.onDidReceiveMessage((message: FromPanel) => void this.take(message)),
      parts.connection.changed.add((state) => this.follow(state)),
    ];
    webview.options = { enableScripts: true, localResourceRoots: [bundle(parts.extension)] };
    webview.html = page(webview, parts.extension);
  }

  post(wish: Wish): void {
    if (this.socket?.isOpen === true) void this.webview.postMessage(wish);
    else this.wish = wish;
  }

  dispose(): void {
    clearTimeout(this.again);
    this.socket?.close();
    for (const subscription of this.subscriptions) subscription.dispose();
  }

  private async take(message: FromPanel): Promise<void> {
    switch (message.panel) {
      case "ready":
        this.ready = true;
        this.parts.wanted();
        return this.follow(this.parts.connection.state);
      case "retry":
        this.parts.wanted();
        return;
      case "send":
        this.socket?.send(String(message.text));
        return;
      case "open_file":
        return this.openFile(message.workspace, message.path, message.line);
      case "open_diff":
        return this.parts.changes.showFile(message.run, message.path);
    }
  }

  private follow(state: ConnectionState): void {
    if (!this.ready) return;
    clearTimeout(this.again);
    this.socket?.close();
    this.socket = null;
    if (state.phase === "open") return this.open();
    if (state.phase === "connecting") return;
    const { address, refused, retryAt } = state.why;
    void this.webview.postMessage({ host: "closed", address, refused, retryAt });
  }

  private open(): void {
    const { connection, workspaces } = this.parts;
    if (connection.place === null) return;
    const { address } = connection.place;
    const socket = new Socket(connection.place, workspaces.roots()[0] ?? null, {
      opened: () => {
        void this.webview.postMessage({ host: "opened" });
        if (this.wish !== null) void this.webview.postMessage(this.wish);
        this.wish = null;
      },
      received: (text) => void this.webview.postMessage({ host: "frame", text }),
      closed: (refused) => {
        if (this.socket !== socket) return;
        this.socket = null;
        const retryAt = Date.now() + 1000;
        void this.webview.postMessage({ host: "closed", address, refused, retryAt });
        // Sent away alone, such as for being slow: the extension's own connection still stands.
        this.again = setTimeout(() => this.follow(connection.state), 1000);
      },
    });
    this.socket = socket;
  }

  private async openFile(workspace: string, path: string, line: number): Promise<void> {
    const uri = this.parts.workspaces.isOurs(workspace) ? this.parts.workspaces.uri(workspace, String(path)) : null;
    if (uri === null) {
      void vscode.window.showWarningMessage("This file is in none of the folders of this window.");
      return;
    }
    const at = new vscode.Position(Number.isSafeInteger(line) && line > 0 ? line - 1 : 0, 0);
    try {
      await vscode.window.showTextDocument(uri, { selection: new vscode.Range(at, at), preview: true });
    } catch {
      void vscode.window.showWarningMessage("Your working tree has no such file. It may be new in a change that has not landed.");
    }
  }
}

/** The panels of this window: the view in the side bar, and tabs of the editor. */
export class Panels implements vscode.WebviewViewProvider, vscode.WebviewPanelSerializer {
  private tab: vscode.WebviewPanel | null = null;
  private readonly bridges = new Set<Bridge>();

  constructor(private readonly parts: PanelParts) {}

  register(): vscode.Disposable[] {
    return [
      vscode.window.registerWebviewViewProvider(VIEW, this, { webviewOptions: { retainContextWhenHidden: true } }),
      vscode.window.registerWebviewPanelSerializer(VIEW, this),
    ];
  }

  resolveWebviewView(view: vscode.WebviewView): void {
    this.attach(view.webview, view.onDidDispose);
  }

  async deserializeWebviewPanel(panel: vscode.WebviewPanel): Promise<void> {
    this.keep(panel);
  }

  /** Shows the panel as a tab of the editor. */
  open(): void {
    if (this.tab !== null) return this.tab.reveal();
    const place = { viewColumn: vscode.ViewColumn.Active };
    this.keep(vscode.window.createWebviewPanel(VIEW, "Checkmate", place, { enableScripts: true, retainContextWhenHidden: true }));
  }

  /** Tells every panel something. */
  post(wish: Wish): void {
    for (const bridge of this.bridges) bridge.post(wish);
  }

  private keep(panel: vscode.WebviewPanel): void {
    this.tab = panel;
    panel.iconPath = vscode.Uri.joinPath(this.parts.extension, "media", "icon.svg");
    this.attach(panel.webview, panel.onDidDispose);
    panel.onDidDispose(() => {
      if (this.tab === panel) this.tab = null;
    });
  }

  private attach(webview: vscode.Webview, gone: vscode.Event<void>): void {
    const bridge = new Bridge(webview, this.parts);
    this.bridges.add(bridge);
    gone(() => {
      this.bridges.delete(bridge);
      bridge.dispose();
    });
  }
}

function bundle(extension: vscode.Uri): vscode.Uri {
  return vscode.Uri.joinPath(extension, "dist", "panel");
}

function page(webview: vscode.Webview, extension: vscode.Uri): string {
  const folder = bundle(extension);
  try {
    return webviewPage({
      html: readFileSync(vscode.Uri.joinPath(folder, "index.html").fsPath, "utf8"),
      address: (file) => webview.asWebviewUri(vscode.Uri.joinPath(folder, file)).toString(),
      source: webview.cspSource,
      nonce: randomBytes(16).toString("hex"),
    });
  } catch {
    return NO_PANEL;
  }
}
