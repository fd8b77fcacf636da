// The panel as VS Code shows it: no socket of its own, frames through messages, the editor's colours.
import assert from "node:assert/strict";
import { launch, recorded, servePanel, stateOf } from "./harness.mjs";

const server = await servePanel();
const browser = await launch();
const page = await browser.newPage({ viewport: { width: 420, height: 900 }, colorScheme: "light" });
const problems = [];
page.on("pageerror", (error) => problems.push(String(error)));
page.on("console", (entry) => entry.type() === "error" && problems.push(entry.text()));
const frames = recorded("factorial");
const state = stateOf(frames);
await page.addInitScript(() => {
  globalThis.posted = [];
  globalThis.acquireVsCodeApi = () => ({ postMessage: (message) => globalThis.posted.push(message) });
  globalThis.WebSocket = class {
    constructor() {
      throw new Error("A webview opens no socket.");
    }
  };
  addEventListener("DOMContentLoaded", () => {
    document.body.className = "vscode-dark";
    document.documentElement.style.setProperty("--vscode-editor-background", "rgb(30, 30, 30)");
  });
});
const post = (message) => page.evaluate((one) => postMessage(one, "*"), message);
const frame = (one) => post({ host: "frame", text: JSON.stringify({ at: "", ...one }) });
const posted = () => page.evaluate(() => globalThis.posted);
const sent = async (type) => (await posted()).filter((one) => one.panel === "send").map((one) => JSON.parse(one.text)).findLast((one) => one.type === type);

await page.goto(server.url);
await page.waitForFunction(() => globalThis.posted.some((one) => one.panel === "ready"));
await post({ host: "closed", address: "ws://localhost:9876", refused: false, retryAt: null });
await page.getByText("No connection to the daemon").waitFor();
await page.getByRole("button", { name: "Try now" }).click();
assert((await posted()).some((one) => one.panel === "retry"));
await post({ host: "opened" });
await page.waitForFunction(() => globalThis.posted.filter((one) => one.panel === "send").length >= 3);
const workspaces = [
  { root: "/w", name: "w", branch: "main", problem: null },
  { root: state.workspace, name: "elsewhere", branch: null, problem: null },
];
await frame({ event: { type: "hello", version: 1, program: "0", workspaces, runs_at_once: 1 }, re: (await sent("hello")).id });
await page.locator(".message", { hasText: "Connected to daemon" }).waitFor();
// A run is shown before the list is there that tells whose it is.
await post({ host: "show", run: state.run });
await page.waitForTimeout(100);
await frame({ event: { type: "runs", runs: [state], more: false }, re: (await sent("list_runs")).id });
await page.waitForFunction(() => globalThis.posted.some((one) => one.panel === "send" && one.text.includes('"subscribe"')));
for (const one of frames) await frame(one);
await page.locator('.message[data-kind="success"]').waitFor();
await page.getByRole("button", { name: "Open in editor" }).first().click();
assert.deepEqual((await posted()).findLast((one) => one.panel === "open_diff"), { panel: "open_diff", run: state.run, path: "src/math.sh" });
await page.getByRole("button", { name: "Open file" }).first().click();
assert.deepEqual((await posted()).findLast((one) => one.panel === "open_file"), { panel: "open_file", workspace: state.workspace, path: "src/math.sh", line: 10 });
// Text stays text, and what cannot be read is told and passed over.
await frame({ event: { type: "status", message: "<img src=x onerror=alert(1)> \u202egnp.exe \u001b[31m" } });
await page.locator(".message", { hasText: "<img src=x onerror=alert(1)> \\u{202e}gnp.exe \\e[31m" }).waitFor();
assert.equal(await page.locator(".message img").count(), 0);
const next = frames.at(-1).seq + 1;
await frame({ event: { type: "verdict", verdict: 7 }, run: state.run, seq: next });
await page.locator('.message[data-kind="error"]', { hasText: "an event verdict that does not follow the protocol" }).waitFor();
await frame({ event: { type: "hologram" }, run: state.run, seq: next + 1 });
await frame({ event: { type: "status", message: "Still here." }, run: state.run, seq: next + 2 });
await page.locator(".message", { hasText: "Still here." }).waitFor();
await post({ host: "frame", text: "{ no JSON" });
await page.locator('.message[data-kind="error"]', { hasText: "no JSON" }).waitFor();
// A run of another repository is followed up there; a new request belongs to the window's folder.
await page.locator(".workspace", { hasText: "elsewhere" }).waitFor();
await page.getByRole("button", { name: "Runs" }).click();
await page.getByRole("button", { name: "New request" }).click();
await page.locator(".workspace", { hasText: "w · main" }).waitFor();
await post({ host: "settings" });
await page.waitForFunction(() => globalThis.posted.some((one) => one.panel === "send" && one.text.includes('"get_configuration"')));
const look = await page.evaluate(() => ({ background: getComputedStyle(document.body).backgroundColor, scheme: getComputedStyle(document.documentElement).colorScheme }));
assert.deepEqual(look, { background: "rgb(30, 30, 30)", scheme: "dark" });
assert(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "nothing is wider than the side bar");
assert.deepEqual(problems, []);
await browser.close();
server.close();
console.log("ok - in a webview: hostile text and broken frames, frames through messages, open in the editor, the editor's colours");
