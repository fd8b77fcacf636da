// A daemon that really runs, on a repository of its own: what tests/panel.mjs drives.
import { execFileSync, spawn } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const examples = new URL("../../examples/", import.meta.url).pathname;

/** The scripted agents of an example, with changes made by `change` to each entry. */
export function script(name, change = () => ({})) {
  const whole = JSON.parse(readFileSync(join(examples, name, "script.json"), "utf8"));
  const counts = {};
  whole.replay = whole.replay.map((entry) => {
    counts[entry.role] = (counts[entry.role] ?? 0) + 1;
    return { ...entry, ...change(entry, counts[entry.role]) };
  });
  return whole;
}

export class World {
  constructor(program) {
    this.program = program;
    this.folder = mkdtempSync(join(tmpdir(), "checkmate-panel-"));
    this.home = join(this.folder, "home");
    mkdirSync(this.home);
  }

  /** A repository with an example's files and a first commit. */
  repository(name, example, configuration) {
    const root = join(this.folder, name);
    cpSync(join(examples, example, "workspace"), root, { recursive: true });
    if (configuration !== undefined) writeFileSync(join(root, ".dualagent.json"), JSON.stringify(configuration, null, 2) + "\n");
    const git = (...args) => execFileSync("git", ["-c", "user.name=Ada", "-c", "user.email=ada@example.org", ...args], { cwd: root, stdio: "pipe" });
    git("init", "-q", "-b", "main");
    git("add", "-A");
    git("commit", "-qm", "First commit");
    return root;
  }

  /** Starts the daemon, on the same port as before if it ran already. */
  async start(workspace, agents, ...more) {
    const file = join(this.folder, "script.json");
    writeFileSync(file, JSON.stringify(agents));
    const args = ["serve", "--workspace", workspace, "--port", String(this.port ?? 0), "--replay", file, ...more];
    const env = { ...process.env, HOME: this.home };
    for (const name of Object.keys(env)) if (name.startsWith("XDG_")) delete env[name];
    this.daemon = spawn(this.program, args, { cwd: workspace, env, stdio: ["ignore", "pipe", "pipe"] });
    let said = "";
    this.address = await new Promise((told, failed) => {
      const read = (data) => {
        said += data;
        const found = /Listening on ws:\/\/localhost:(\d+)/.exec(said);
        if (found === null) return;
        this.port = Number(found[1]);
        told(`http://localhost:${this.port}/#token=${this.token()}`);
      };
      this.daemon.stdout.on("data", read);
      this.daemon.stderr.on("data", read);
      this.daemon.on("exit", () => failed(new Error(`The daemon ended: ${said}`)));
      setTimeout(() => failed(new Error(`The daemon does not tell its address: ${said}`)), 20_000);
    });
  }

  /** What lets a page in; the program says it to people only, not to a test. */
  token() {
    return readFileSync(join(this.home, ".local/state/checkmate/daemon/token"), "utf8").trim();
  }

  /** Starts the example of a client in JavaScript; what it writes is in `told`, line by line. */
  follow() {
    const env = { ...process.env, HOME: this.home };
    for (const name of Object.keys(env)) if (name.startsWith("XDG_")) delete env[name];
    // Node 20 has WebSockets behind this flag; later ones ignore it.
    const args = ["--no-warnings", "--experimental-websocket", join(examples, "clients/client.mjs")];
    this.client = spawn(process.execPath, args, { env, stdio: ["ignore", "pipe", "inherit"] });
    this.told = [];
    let rest = "";
    this.client.stdout.on("data", (data) => {
      const lines = (rest + data).split("\n");
      rest = lines.pop();
      this.told.push(...lines);
    });
  }

  async stop() {
    const { daemon } = this;
    if (daemon === undefined || daemon.exitCode !== null) return;
    const ended = new Promise((end) => daemon.on("exit", end));
    daemon.kill("SIGTERM");
    await ended;
  }

  async end() {
    this.client?.kill();
    await this.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }
}
