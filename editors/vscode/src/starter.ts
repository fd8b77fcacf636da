import * as vscode from "vscode";
import { candidates, findBinary } from "./binary.ts";
import type { Connection } from "./connection.ts";
import { health, startDaemon } from "./daemon.ts";
import { findDaemon, type Place } from "./place.ts";
import { inNotification } from "./text.ts";

function settings() {
  const all = vscode.workspace.getConfiguration("checkmate");
  return {
    path: all.get<string>("path", ""),
    autoStart: all.get<boolean>("autoStart", true),
    /** Undefined where the user said nothing. */
    port: all.inspect<number>("port")?.globalValue,
  };
}

/** Returns where the daemon is looked for by these settings. */
export function place(): Place {
  return findDaemon(process.env, settings().port);
}

/** Opens VS Code's settings where those of this machine are: in a remote window not among those of the user. */
export async function showSettings(query: string): Promise<void> {
  const where = vscode.env.remoteName === undefined ? "openSettings" : "openRemoteSettings";
  await vscode.commands.executeCommand(`workbench.action.${where}`, { query });
}

/**
 * Who wants a connection: a panel, which shows itself why there is none; a command, which is told; or somebody who wants
 * the daemon started, whatever the settings say.
 */
type Wish = "panel" | "command" | "start";

/** Starts the daemon where none answers. */
export class Starter {
  private going: { wish: Wish; end: Promise<boolean> } | null = null;
  private complained = false;

  constructor(
    private readonly connection: Connection,
    private readonly folders: () => string[],
    private readonly logs: vscode.Uri,
  ) {}

  /** Connects, and starts the daemon for it if that is set. True if the connection stands. */
  ensure(wish: "panel" | "command"): Promise<boolean> {
    return this.once(wish);
  }

  /** Starts the daemon because the person says so. */
  async start(): Promise<void> {
    if (!(await this.once("start"))) return;
    const { state } = this.connection;
    if (state.phase === "open") void vscode.window.showInformationMessage(`Connected to daemon at ${state.address}.`);
  }

  private async once(wish: Wish): Promise<boolean> {
    // An attempt for somebody else may do less, or say nothing.
    while (this.going !== null && this.going.wish !== wish) if (await this.going.end) return true;
    if (this.going === null) {
      const end = this.connectOrStart(wish).finally(() => void (this.going = null));
      this.going = { wish, end };
    }
    return this.going.end;
  }

  private async connectOrStart(wish: Wish): Promise<boolean> {
    const asked = wish !== "panel";
    if (!vscode.workspace.isTrusted) {
      if (asked) this.distrusted();
      return false;
    }
    if (await this.connection.connect()) return true;
    const { port } = place();
    if ((await health(port)) !== "nobody") return this.disconnected(asked);
    const { path, autoStart } = settings();
    if (wish !== "start" && !autoStart) return this.disconnected(asked);
    const binary = findBinary(path, process.env);
    if (binary === null) {
      this.missing(path, asked);
      return false;
    }
    const log = vscode.Uri.joinPath(this.logs, "daemon.log").fsPath;
    const home = process.env.HOME ?? "/";
    const failure = await vscode.window.withProgress(
      { location: vscode.ProgressLocation.Window, title: "Starting the daemon of Checkmate" },
      () => startDaemon({ binary, port, folders: this.folders(), home, log }),
    );
    if (failure !== null) {
      this.complain(`The daemon could not be started: ${inNotification(failure, 400)}`, log, asked);
      return false;
    }
    return (await this.connection.connect()) || this.disconnected(asked);
  }

  /** Says why there is no connection, to a person who asked for one, with a way to try again. */
  private disconnected(asked: boolean): boolean {
    const { state } = this.connection;
    if (asked && state.phase === "closed") {
      const again = state.why.refused ? "Try Again" : "Start Daemon";
      void vscode.window.showErrorMessage(`Disconnected. ${state.why.reason}`, again).then(async (answer) => {
        if (answer === again) await this.start();
      });
    }
    return this.connection.isOpen;
  }

  // None of these waits for the person: a notification may lie there for hours, and the next attempt is not to wait for it.

  private distrusted(): void {
    const manage = "Manage Trust";
    const text = "This folder is not trusted, so Checkmate starts no daemon and no run in it.";
    void vscode.window.showWarningMessage(text, manage).then(async (answer) => {
      if (answer === manage) await vscode.commands.executeCommand("workbench.trust.manage");
    });
  }

  private missing(path: string, asked: boolean): void {
    if (this.complained && !asked) return;
    this.complained = true;
    const [how, set] = ["How to Install", "Open Settings"];
    const looked = path === "" ? "in PATH and in ~/.cargo/bin" : `at ${candidates(path, process.env)[0]} (\`checkmate.path\`)`;
    const text =
      `The program \`checkmate\` was not found ${looked}. Install it with ` +
      "`cargo install --locked --path crates/checkmate` from its sources, or say where it is in `checkmate.path`.";
    void vscode.window.showErrorMessage(text, how, set).then(async (answer) => {
      if (answer === how) {
        await vscode.commands.executeCommand("workbench.action.openWalkthrough", "checkmate.checkmate#start", false);
      } else if (answer === set) {
        await showSettings("checkmate.path");
      }
    });
  }

  private complain(text: string, log: string, asked: boolean): void {
    if (this.complained && !asked) return;
    this.complained = true;
    const open = "Open Log";
    void vscode.window.showErrorMessage(text, open).then(async (answer) => {
      if (answer === open) await vscode.window.showTextDocument(vscode.Uri.file(log));
    });
  }
}
