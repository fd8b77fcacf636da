// Takes pictures of the panel in its states, to be looked at: `node tests/pictures.mjs [FOLDER]`.
import { mkdir } from "node:fs/promises";
import { launch, recorded, servePanel, standIn, stateOf } from "./harness.mjs";

const folder = process.argv[2] ?? "/tmp/panel-shots";
await mkdir(folder, { recursive: true });

/** A recorded run with agents, prices and a budget, as a run with real models has. */
function priced(name, ago) {
  let cost = 0;
  const shift = Date.now() - ago - Date.parse(recorded(name)[0].at);
  return recorded(name).map((frame) => {
    const event = { ...frame.event };
    if (event.type === "run_started") {
      event.agents = {
        builder: { provider: "anthropic", model: "claude-sonnet-5" },
        reviewer: { provider: "openai", model: "gpt-5.5" },
      };
      event.budget = { cost_micro_usd: 1_000_000 };
    }
    if (event.type === "agent_answered") {
      cost += 41_000;
      event.model = event.role === "builder" ? "claude-sonnet-5" : "gpt-5.5";
      event.duration_ms = event.role === "builder" ? 11_400 : 6_400;
      event.usage = { ...event.usage, input_tokens: 9800, cached_tokens: 8100, cost_micro_usd: 41_000 };
      event.total = { ...event.total, input_tokens: Math.round(cost / 4), cached_tokens: Math.round(cost / 4.6), cost_micro_usd: cost };
    }
    return { ...frame, event, at: new Date(Date.parse(frame.at) + shift).toISOString() };
  });
}

const minutes = 60_000;
const factorial = priced("factorial", 30_000);
const arbiter = priced("arbiter", 90 * minutes);
const oscillation = priced("oscillation", 26 * 60 * minutes);
const upTo = (frames, test) => frames.slice(0, frames.findIndex(test) + 1);
const second = factorial.findIndex((frame) => frame.event.type === "turn_started" && frame.event.turn === 2);
const building = factorial.slice(0, second + 5);
const rejected = { run: "20261122-101010-aaaa", began: new Date(Date.now() - 3 * 60 * minutes).toISOString() };
const workspaces = [
  { root: "/home/ada/acme/billing", name: "acme/billing", branch: "main", problem: null },
  { root: "/home/ada/old", name: "old", branch: null, problem: "The repository has no commit yet. Make one with `git commit`." },
];
const runs = (first) => [
  { frames: first, state: stateOf(first, { request: first[0].event.request }) },
  { frames: arbiter, state: stateOf(arbiter) },
  { frames: [], state: { ...stateOf(arbiter), ...rejected, request: "Speed up the invoice export", standing: "not_approved", stopped_by: "max_iterations", landed: false } },
  { frames: oscillation, state: stateOf(oscillation) },
  { frames: [], state: { ...stateOf(arbiter), run: "20261122-235959-zzzz", began: new Date().toISOString(), request: "Rename the exporter", standing: "queued", landed: false } },
];
const back = "Approved and landed, then taken back. `checkmate land RUN` brings the change to your tree again.";
const undone = [
  ...factorial,
  ...[
    { type: "command_taken", command: { command: "taken_back" } },
    { type: "cycle_complete", success: false, message: back, iterations: 2 },
    { type: "outcome", outcome: { outcome: "not_approved", stopped_by: "not_landed", reason: back } },
  ].map((event, index) => ({ ...factorial.at(-1), event, seq: factorial.length + 1 + index })),
];
const show = async (page, request) => {
  const list = page.getByRole("button", { name: "Runs" });
  if (await list.isVisible()) await list.click();
  await page.locator(".run", { hasText: request }).click();
};
const ask = (question, seq) => ({ event: { type: "question_asked", gate: "g1", question }, run: factorial[0].run, task: "main", seq, at: new Date().toISOString() });
const chunk = (text, start) => ({ event: { type: "stream_chunk", role: "builder", chunk: text, start }, run: factorial[0].run, seq: building.at(-1).seq, at: new Date().toISOString() });
const values = [
  ["builder.provider", '"anthropic"', "the file"],
  ["test_command", '"sh test/run.sh"', "found in the repository"],
  ["max_iterations", "3", "the default"],
  ["land", '"ask"', "the default"],
].map(([key, value, from]) => ({ key, value, from }));
const configuration = {
  type: "configuration",
  path: "/home/ada/acme/billing/checkmate.jsonc",
  text: '{\n  // Who builds and who reviews.\n  "builder": { "provider": "anthropic", "model": "claude-sonnet-5" },\n  "max_iteration": 3\n}\n',
  errors: ["`max_iteration` is no key. Did you mean `max_iterations`?"],
  warnings: ["Nothing limits what a run may cost: set `budget`."],
  values,
};

const scenes = {
  running: { first: building, then: (daemon) => {
    daemon.send(chunk('{"plan":["Reject everything that is no whole number from 0 on","Add tests for a negative number and a word"],"patch":"--- a/src/math.sh\\n+++ b/src/math.sh\\n@@ -6,3 +6,12 @@\\n+# factorial N', true));
  } },
  question: { first: building, then: (daemon) => daemon.send(ask({ question: "command", role: "reviewer", line: "npm run bench -- --json" }, building.at(-1).seq + 1)) },
  patch: { first: building, then: (daemon) => daemon.send(ask({ question: "patch", diff: factorial.findLast((frame) => frame.event.type === "patch_ready").event.patch }, building.at(-1).seq + 1)) },
  approved: { first: factorial },
  refused: { first: priced("oscillation", 40_000) },
  arbiter: { first: upTo(priced("arbiter", 20_000), (frame) => frame.event.type === "arbiter_result") },
  home: { first: factorial, shown: null },
  queued: { first: factorial, then: (_, page) => show(page, "Rename the exporter") },
  undone: { first: undone },
  settings: { first: factorial, then: (_, page) => page.getByRole("button", { name: "Settings" }).click() },
  lost: { first: building, then: async (daemon) => {
    daemon.refuse = true;
    for (const socket of daemon.sockets) await socket.close({ code: 1006 });
  } },
};
const looks = {
  "wide-dark": { viewport: { width: 1440, height: 900 }, colorScheme: "dark" },
  "wide-light": { viewport: { width: 1440, height: 900 }, colorScheme: "light" },
  middle: { viewport: { width: 1000, height: 900 }, colorScheme: "dark" },
  narrow: { viewport: { width: 500, height: 900 }, colorScheme: "dark" },
  small: { viewport: { width: 400, height: 900 }, colorScheme: "dark" },
  forced: { viewport: { width: 1440, height: 900 }, forcedColors: "active" },
};

const server = await servePanel();
const browser = await launch();
const only = process.argv.slice(3);
for (const [look, options] of Object.entries(looks)) {
  for (const [name, scene] of Object.entries(scenes)) {
    if (only.length > 0 && !only.includes(name)) continue;
    const context = await browser.newContext(options);
    const page = await context.newPage();
    page.on("console", (message) => message.type() === "error" && console.error(look, name, message.text()));
    page.on("pageerror", (error) => console.error(look, name, error));
    const daemon = await standIn(page, { runs: runs(scene.first), workspaces, configuration });
    const shown = scene.shown === null ? null : scene.first[0].run;
    if (shown !== null) await page.addInitScript((run) => sessionStorage.setItem("checkmate.run", run), shown);
    await page.goto(server.url);
    await page.waitForTimeout(500);
    await scene.then?.(daemon, page);
    await page.waitForTimeout(350);
    await page.screenshot({ path: `${folder}/${look}-${name}.png` });
    await context.close();
  }
}
await browser.close();
server.close();
