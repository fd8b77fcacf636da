// A scratch world for the drive: a repository, a home folder, a `checkmate` with scripted agents, and a code-server.
import { execFileSync, spawn } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const script = fileURLToPath(new URL("script.json", import.meta.url));
const SETTINGS = {
  "chat.disableAIFeatures": true,
  "extensions.autoCheckUpdates": false,
  "extensions.autoUpdate": false,
  "extensions.gallery.serviceUrl": "",
  "workbench.startupEditor": "none",
  "security.workspace.trust.startupPrompt": "never",
  "telemetry.telemetryLevel": "off",
  "workbench.enableExperiments": false,
  "workbench.secondarySideBar.defaultVisibility": "hidden",
};

export class World {
  folder = mkdtempSync(join(tmpdir(), "checkmate-vscode-"));
  repository = join(this.folder, "calc");
  second = join(this.folder, "second");
  home = join(this.folder, "home");
  shots = process.env.SHOTS ?? join(this.folder, "shots");
  #server = null;

  /** `cache` has the code-server, `vsix` is the package under test, `checkmate` the program. */
  constructor({ cache, vsix, checkmate }) {
    this.cache = cache;
    this.vsix = vsix;
    this.checkmate = checkmate;
    this.environment = {
      PATH: `${cache}/node24/bin:/usr/local/bin:/usr/bin:/bin`,
      HOME: this.home,
      XDG_STATE_HOME: join(this.folder, "state"),
      LANG: "C.UTF-8",
      TMPDIR: tmpdir(),
      EXTENSIONS_GALLERY: '{"serviceUrl":""}',
      GIT_AUTHOR_NAME: "Somebody",
      GIT_AUTHOR_EMAIL: "somebody@example.com",
      GIT_COMMITTER_NAME: "Somebody",
      GIT_COMMITTER_EMAIL: "somebody@example.com",
    };
    for (const path of [this.shots, join(this.home, ".cargo/bin")]) mkdirSync(path, { recursive: true });
  }

  async prepare() {
    cpSync(join(root, "examples/factorial/workspace"), this.repository, { recursive: true });
    const configuration = { test_command: "sh test/run.sh", allow_paths: ["src/**", "test/**"] };
    writeFileSync(join(this.repository, ".dualagent.json"), `${JSON.stringify(configuration, null, 2)}\n`);
    for (const args of [["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-qm", "Begin"]]) this.git(...args);
    // What the extension finds: the real program, whose agents follow a script.
    const program = join(this.folder, "checkmate");
    symlinkSync(this.checkmate, program);
    const wrapper = `#!/bin/sh\nexec '${program}' "$@" --replay '${script}'\n`;
    writeFileSync(join(this.home, ".cargo/bin/checkmate"), wrapper, { mode: 0o755 });
    this.daemonPort = await freePort();
    this.set({ "checkmate.port": this.daemonPort, "checkmate.autoStart": false });
    this.#codeServer(["--install-extension", this.vsix]);
  }

  git(...args) {
    return execFileSync("git", ["-C", this.repository, ...args], { env: this.environment, encoding: "utf8" });
  }

  read(path) {
    return readFileSync(join(this.repository, path), "utf8");
  }

  /** Changes settings of the user and of the machine. */
  set(settings) {
    this.settings = { ...SETTINGS, ...this.settings, ...settings };
    for (const level of ["User", "Machine"]) {
      mkdirSync(join(this.folder, "data", level), { recursive: true });
      writeFileSync(join(this.folder, "data", level, "settings.json"), JSON.stringify(this.settings, null, 2));
    }
  }

  get #options() {
    const data = join(this.folder, "data");
    return ["--config", join(data, "cs.yaml"), "--user-data-dir", data, "--extensions-dir", join(this.folder, "extensions")];
  }

  #codeServer(args) {
    const entry = join(this.cache, "node_modules/code-server/out/node/entry.js");
    const node = join(this.cache, "node24/bin/node");
    // It complains about parts that are not compiled and not needed.
    const stdio = ["ignore", "pipe", "pipe"];
    return execFileSync(node, [entry, ...this.#options, ...args], { env: this.environment, stdio, encoding: "utf8" });
  }

  /** Makes a second repository, which asks about every patch, and a workspace of both, and returns the workspace's file. */
  secondRepository() {
    cpSync(this.repository, this.second, { recursive: true });
    this.configureSecond({ approve_patches: true });
    const file = join(this.folder, "both.code-workspace");
    writeFileSync(file, JSON.stringify({ folders: [{ path: this.repository }, { path: this.second }] }));
    return file;
  }

  /** Changes the configuration of the second repository. */
  configureSecond(more) {
    const file = join(this.second, ".dualagent.json");
    writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, "utf8")), ...more }));
  }

  /** Starts the real VS Code and returns its address. With `trust` it asks whether folders are trusted. */
  async open({ trust = false } = {}) {
    this.closeEditor();
    const port = await freePort();
    const entry = join(this.cache, "node_modules/code-server/out/node/entry.js");
    const off = ["--disable-telemetry", "--disable-update-check", "--disable-getting-started-override"];
    if (!trust) off.push("--disable-workspace-trust");
    const args = [entry, ...this.#options, ...off, "--auth", "none", "--bind-addr", `127.0.0.1:${port}`];
    const log = openSync(join(this.folder, "code-server.log"), "a");
    this.#server = spawn(join(this.cache, "node24/bin/node"), args, { env: this.environment, stdio: ["ignore", log, log], detached: true });
    const address = `http://127.0.0.1:${port}`;
    for (let i = 0; i < 200; i++) {
      if ((await fetch(`${address}/healthz`).catch(() => null))?.ok) return address;
      await new Promise((keep) => setTimeout(keep, 100));
    }
    throw new Error(`code-server does not answer; see ${this.folder}/code-server.log`);
  }

  daemonNote() {
    return JSON.parse(readFileSync(join(this.folder, "state/checkmate/daemon/daemon.json"), "utf8"));
  }

  /** What a client of the daemon shows. */
  get token() {
    return readFileSync(join(this.folder, "state/checkmate/daemon/token"), "utf8").trim();
  }

  closeEditor() {
    if (this.#server !== null) process.kill(-this.#server.pid, "SIGTERM");
    this.#server = null;
  }

  stopDaemon() {
    process.kill(this.daemonNote().pid, "SIGTERM");
  }

  /** Ends what was started, and removes the folder unless something went wrong. */
  close(failed) {
    try {
      this.stopDaemon();
    } catch {
      // There is none.
    }
    this.closeEditor();
    if (failed) console.error(`What is left is in ${this.folder}.`);
    else if (process.env.KEEP === undefined) setTimeout(() => rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 }), 1000);
  }
}

function freePort() {
  return new Promise((keep, fail) => {
    const server = createServer();
    server.on("error", fail);
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => keep(port));
    });
  });
}
