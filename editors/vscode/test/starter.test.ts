import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { Connection } from "../src/connection.ts";
import { place, Starter } from "../src/starter.ts";
import { notifications, settings } from "./vscode.ts";

test("nobody waits for a notification, and whoever asks is told", async () => {
  const state = mkdtempSync(join(tmpdir(), "checkmate-unit-"));
  process.env.XDG_STATE_HOME = state;
  Object.assign(settings, { port: 1, path: "/nowhere/checkmate", autoStart: true });
  const connection = new Connection({ find: place, folders: () => [], permitted: () => true });
  const starter = new Starter(connection, () => [], {} as never);
  const said = () => notifications.splice(0).map(({ text }) => text.split(".")[0]);
  const missing = "The program `checkmate` was not found at /nowhere/checkmate (`checkmate";
  // A panel wants it at the same moment as a command.
  assert.deepEqual(await Promise.all([starter.ensure("panel"), starter.ensure("command")]), [false, false]);
  assert.ok(said().includes(missing));
  assert.equal(await starter.ensure("panel"), false);
  assert.deepEqual(said(), [], "a panel complains once");
  assert.equal(await starter.ensure("command"), false, "the first notification is open, and nobody waits for it");
  assert.deepEqual(said(), [missing]);
  settings.autoStart = false;
  assert.equal(await starter.ensure("command"), false);
  const [why] = notifications;
  assert.match(why?.text ?? "", /Disconnected\. No daemon answers/);
  assert.deepEqual(why?.buttons, ["Start Daemon"]);
  connection.dispose();
  rmSync(state, { recursive: true });
});
