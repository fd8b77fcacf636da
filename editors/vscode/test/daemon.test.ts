import assert from "node:assert/strict";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { WebSocketServer } from "ws";
import { candidates, findBinary } from "../src/binary.ts";
import { Connection } from "../src/connection.ts";
import { health, startDaemon } from "../src/daemon.ts";
import { webviewPage } from "../src/page.ts";
import { daemonFolder, findDaemon, noteOf, type Place, tokenOf } from "../src/place.ts";

const TOKEN = "0123456789abcdef0123456789abcdef";
const whole = mkdtempSync(join(tmpdir(), "checkmate-unit-"));
const scratch = () => mkdtempSync(join(whole, "x"));
after(() => rmSync(whole, { recursive: true }));

test("the program is looked for where the setting says, else in PATH and then in ~/.cargo/bin", () => {
  const environment = { HOME: "/home/me", PATH: "/usr/bin:relative:.::/opt/bin" };
  assert.deepEqual(candidates("", environment), ["/usr/bin/checkmate", "/opt/bin/checkmate", "/home/me/.cargo/bin/checkmate"]);
  assert.deepEqual(candidates(" ~/x/checkmate ", environment), ["/home/me/x/checkmate"]);
  assert.deepEqual(candidates("/x/other", environment), ["/x/other"]);
  assert.equal(findBinary("", environment, (path) => path.startsWith("/opt")), "/opt/bin/checkmate");
  assert.equal(findBinary("relative", environment, () => true), null);
  assert.equal(findBinary("", environment, () => false), null);
});

test("the daemon is found by its note, and its token is for nobody else", () => {
  const state = scratch();
  const environment = { XDG_STATE_HOME: state };
  const folder = daemonFolder(environment) ?? "";
  assert.equal(folder, join(state, "checkmate/daemon"));
  assert.equal(daemonFolder({ HOME: "/home/me", XDG_STATE_HOME: "relative" }), "/home/me/.local/state/checkmate/daemon");
  assert.deepEqual(findDaemon(environment, undefined), { port: 9876, address: "ws://localhost:9876", token: null, known: false });
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "token"), `${TOKEN}\n`);
  writeFileSync(join(folder, "daemon.json"), JSON.stringify({ pid: process.pid, port: 4711, version: "0" }));
  assert.deepEqual(findDaemon(environment, undefined), { port: 4711, address: "ws://localhost:4711", token: TOKEN, known: true });
  assert.equal(findDaemon(environment, 5000).port, 5000);
  // The daemon of the note is gone: whoever listens now is somebody else.
  const gone = findDaemon(environment, undefined, () => false);
  assert.deepEqual([gone.port, gone.known], [9876, false]);
  for (const text of [null, "", "{}", "[1]", '{"pid":1,"port":70000}', '{"pid":"1","port":1}']) assert.equal(noteOf(text), null);
  for (const text of [null, "", "short", `${TOKEN}\r\nX: y`, `${TOKEN},x`]) assert.equal(tokenOf(text), null);
});

test("a daemon that does not start says why", async () => {
  const folder = scratch();
  const binary = join(folder, "checkmate");
  writeFileSync(binary, "#!/bin/sh\necho 'The port is in use.' >&2\nexit 1\n");
  chmodSync(binary, 0o755);
  const start = { binary, port: 1, folders: [folder], home: folder, log: join(folder, "logs/daemon.log") };
  assert.equal(await startDaemon(start), "The port is in use.");
  assert.match((await startDaemon({ ...start, binary: join(folder, "none") })) ?? "", /ENOENT/);
  assert.match(readFileSync(start.log, "utf8"), /in use/);
});

/** A daemon of a few words. */
async function stub(program = "checkmate", hello: object | null = {}) {
  const server = createServer((_, response) => response.end(JSON.stringify({ status: "ok", program })));
  const sockets = new WebSocketServer({ noServer: true, handleProtocols: () => "checkmate.v1" });
  server.on("upgrade", (request, socket, head) => {
    if (!(request.headers["sec-websocket-protocol"] ?? "").includes(`checkmate.token.${TOKEN}`)) {
      socket.end("HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
      return;
    }
    sockets.handleUpgrade(request, socket, head, (client) => {
      client.on("message", (data) => {
        const { type, id } = JSON.parse(String(data));
        const workspaces = [{ root: "/repo", name: "repo", problem: null }];
        if (type === "hello" && hello === null) return;
        const event = type === "hello" ? { type, program: "1", workspaces, ...hello } : { type: "workspaces", workspaces };
        if (type !== "undo") client.send(JSON.stringify({ event, re: id, at: "" }));
        else client.close();
      });
    });
  });
  await new Promise<void>((keep) => server.listen(0, "127.0.0.1", keep));
  const { port } = server.address() as AddressInfo;
  return { port, close: () => server.close() };
}

function connectionTo(place: Partial<Place> & { port: number }, permitted = true) {
  const find = () => ({ address: `ws://localhost:${place.port}`, token: TOKEN, known: true, ...place });
  return new Connection({ find, folders: () => ["/repo"], permitted: () => permitted, patience: 300 });
}

test("the connection stands, is lost, and comes back by itself", async () => {
  const daemon = await stub();
  const connection = connectionTo(daemon);
  assert.equal(await connection.connect(), true);
  assert.deepEqual(connection.workspaces.map(({ root }) => root), ["/repo"]);
  const back = new Promise<void>((keep) => {
    const phases: string[] = [];
    connection.changed.add(({ phase }) => {
      phases.push(phase);
      if (phases.join() === "closed,open") keep();
    });
  });
  assert.deepEqual(await connection.ask({ type: "undo", run: "r" }), { type: "lost", sent: true });
  assert.deepEqual(await connection.ask({ type: "undo", run: "r" }), { type: "lost", sent: false });
  await back;
  connection.dispose();
  daemon.close();
});

test("another port in the settings is another daemon", async () => {
  const [one, other] = [await stub(), await stub("checkmate", { program: "2" })];
  let { port } = one;
  const find = () => ({ port, address: `ws://localhost:${port}`, token: TOKEN, known: true });
  const connection = new Connection({ find, folders: () => [], permitted: () => true });
  assert.equal(await connection.connect(), true);
  const phases: string[] = [];
  connection.changed.add(({ phase }) => phases.push(phase));
  assert.equal(await connection.moved(), true);
  assert.deepEqual(phases, [], "it is the same daemon");
  port = other.port;
  assert.equal(await connection.moved(), true);
  assert.deepEqual(phases, ["connecting", "open"]);
  assert.equal(connection.state.phase === "open" && connection.state.program, "2");
  connection.dispose();
  one.close();
  other.close();
});

test("why there is no connection is a sentence with the address and the next step", async () => {
  const daemon = await stub();
  const other = await stub("somebody");
  const why = async (place: Partial<Place> & { port: number }, permitted = true) => {
    const connection = connectionTo(place, permitted);
    assert.equal(await connection.connect(), false);
    connection.dispose();
    assert.equal(connection.state.phase, "closed");
    return connection.state.phase === "closed" ? connection.state.why : assert.fail();
  };
  assert.match((await why({ port: 1 })).reason, /No daemon answers at ws:\/\/localhost:1\. Start it with `checkmate serve`/);
  assert.match((await why({ port: other.port })).reason, /Another program answers/);
  assert.match((await why({ port: daemon.port, token: "f".repeat(32) })).reason, /refused the token/);
  assert.match((await why({ port: daemon.port, known: false })).reason, /not known to be yours/);
  const strange = await stub("checkmate", { type: "error", error: "Only version 7 is spoken." });
  const refused = await why({ port: strange.port });
  assert.match(refused.reason, /refuses this extension: Only version 7 is spoken\. Try again/);
  assert.ok(refused.refused && refused.retryAt !== null, "it is tried again by itself too");
  const silent = await stub("checkmate", null);
  assert.match((await why({ port: silent.port })).reason, /does not greet back/);
  strange.close();
  silent.close();
  const distrusted = await why(daemon, false);
  assert.deepEqual([distrusted.retryAt, /not trusted/.test(distrusted.reason)], [null, true]);
  assert.deepEqual(await Promise.all([health(daemon.port), health(other.port), health(1)]), ["checkmate", "somebody else", "nobody"]);
  daemon.close();
  other.close();
});

test("the panel's page gets a strict policy", () => {
  const html = '<html><head><script type="module" src="./panel.js"></script><link href="./panel.css"></head></html>';
  const page = webviewPage({ html, address: (file) => `vscode://x/${file}`, source: "vscode:", nonce: "abc" });
  assert.match(page, /<head>\s*<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'nonce-abc';/);
  assert.match(page, /<script nonce="abc" type="module" src="vscode:\/\/x\/panel.js">/);
  assert.match(page, /href="vscode:\/\/x\/panel.css"/);
  assert.ok(!page.includes("unsafe"));
});
