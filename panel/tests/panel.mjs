// Drives the panel in Chromium against a real `checkmate serve` with scripted agents: every button once, by mouse and by
// key. `CHECKMATE=PATH node tests/panel.mjs` tests the panel that the program serves; with `--dist` the one in dist/ takes
// its place, for working on it without building the program.
import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { browser, button, composer, connected, count, covers, eventually, gone, isAccessible, isColoured, message, open, page, problems, question, seen, show, step, verdict } from "./driver.mjs";
import { edges } from "./edges.mjs";
import { script, World } from "./world.mjs";

const program = process.env.CHECKMATE ?? new URL("../../target/debug/checkmate", import.meta.url).pathname;
if (!existsSync(program)) {
  console.error(`There is no ${program}. Build it, or set CHECKMATE to the program.`);
  process.exit(1);
}
const world = new World(program);
const content = (path) => readFileSync(join(repository, path), "utf8");
const repository = world.repository("billing", "factorial", { test_command: "sh test/run.sh", approve_patches: false });
const other = world.repository("words", "arbiter");
const slow = script("factorial", (entry, number) =>
  entry.role === "builder"
    ? { latency_ms: number === 1 ? 2500 : 6000, reply: { ...entry.reply, run: number === 1 ? ["wc -l src/math.sh", "wc -l src/math.sh"] : [] } }
    : { latency_ms: 2500, reply: { ...entry.reply, ...(number === 1 ? { issues: [...entry.reply.issues, { severity: "minor", description: "Name the argument", issue_id: "name" }] } : {}) } },
);
const request = "Add a function to src/math.sh that calculates factorial, with proper error handling and tests";

async function firstRun() {
  await covers("the page takes the token out of its address and connects (Status, grey)", async () => {
    await open(world.address);
    await seen(message("status").filter({ hasText: "Connected to daemon" }));
    assert(!page.url().includes("token"), page.url());
    await isColoured("status", "grey");
    await seen(page.getByText("connected", { exact: true }));
  });
  await covers("a request typed and sent by keyboard alone (You, blue)", async () => {
    await page.keyboard.press("Tab");
    for (let tabs = 0; tabs < 30 && !(await composer().evaluate((area) => area === document.activeElement)); tabs++) await page.keyboard.press("Tab");
    await page.keyboard.type(request);
    await page.keyboard.press("Control+Enter");
    await seen(message("user").filter({ hasText: request }));
    await isColoured("user", "blue");
    assert.equal(await composer().inputValue(), "");
  });
  await covers("the builder's reply while it arrives (Builder, green)", async () => {
    await seen(page.locator('.message.live[data-kind="builder"]', { hasText: "Read how gcd is written" }));
    await isColoured("builder", "green");
  });
  await covers("Run Tests works beside a run (Tests, blue, with output and exit)", async () => {
    await button("Run Tests").click();
    const ran = message("tests").filter({ hasText: "exit 0" });
    await seen(ran);
    await isColoured("tests", "blue");
    await ran.first().getByText("Output").click();
    await seen(ran.first().locator(".output", { hasText: "gcd of multiples" }));
  });
  await covers("plan, tests and risks of the builder, and its patch (Patch, orange)", async () => {
    await seen(message("builder").filter({ hasText: "Large numbers overflow" }));
    await seen(message("builder").filter({ hasText: "factorial 5 is 120" }));
    await seen(message("patch"));
    await isColoured("patch", "orange");
    await seen(page.locator(".line.add", { hasText: "factorial() {" }));
  });
  await covers("a command that waits for an answer, and Allow once by its key", async () => {
    await question("wc -l src/math.sh");
    assert.match(await page.title(), /Waiting for you/);
    assert.match(await page.locator('[aria-live="assertive"]').textContent(), /wc -l/);
    assert.equal(await page.locator("button.primary:visible").count(), 1, "one blue button at a time");
    await isAccessible("a question");
    await page.locator(".timeline").focus();
    await page.keyboard.press("y");
    await gone(page.locator(".question"));
  });
  await covers("Inline, Side by side and folding a file", async () => {
    await button("Side by side").first().click();
    await seen(page.locator(".pair"));
    await button("Inline").first().click();
    const file = page.locator(".file-name").first();
    await file.click();
    assert.equal(await file.getAttribute("aria-expanded"), "false");
    await file.click();
  });
  await covers("the reviewer's reply while it arrives (Reviewer, purple)", async () => {
    await seen(page.locator('.message.live[data-kind="reviewer"]'));
    await isColoured("reviewer", "purple");
  });
  await covers("the review in three lists (Review, purple), its evidence and the interim card", async () => {
    await button(/^Turn 1/, { exact: false }).waitFor({ timeout: 20_000 });
    await seen(page.locator(".turn-head", { hasText: "Turn 2" }));
    await page.locator(".turn-head", { hasText: "Turn 1" }).click();
    for (const title of ["Blockers 1", "Suggestions 1", "Test gaps 1"]) await seen(message("review").getByRole("heading", { name: title }));
    await isColoured("review", "purple");
    await seen(message("tests").filter({ hasText: "new tests on the old code" }));
    await verdict("Changes requested");
    await seen(page.getByRole("region", { name: "Issues" }).getByText("raised in turn 1"));
  });
  await covers("what changed since turn 1, and the whole change", async () => {
    const patch = message("patch").last();
    await seen(patch.getByRole("button", { name: "Since turn 1", pressed: true }), 20_000);
    const step = await patch.locator(".line.add").count();
    await patch.getByRole("button", { name: "Whole change" }).click();
    assert((await patch.locator(".line.add").count()) > step);
  });
}

/** A run that is talked to: what is said makes another turn, so this one is stopped in the end. */
async function talking() {
  const issues = page.getByRole("region", { name: "Issues" });
  await covers("Dispute settles a finding that no test confirms", async () => {
    await button("New request").click();
    await composer().fill("Add factorial and listen");
    await button("Run Cycle").click();
    await question("wc -l src/math.sh");
    await page.locator(".timeline").focus();
    await page.keyboard.press("y");
    await seen(issues.getByText("Name the argument"), 30_000);
    await issues.getByRole("listitem").filter({ hasText: "Name the argument" }).getByRole("button", { name: "Dispute" }).click();
    await page.keyboard.type("The shell has no names for arguments.");
    await button("Settle it").click();
    await seen(issues.getByText("settled by you"));
  });
  await covers("Ask puts a question into the request box, and Tell the builder sends it", async () => {
    await issues.getByRole("button", { name: "Ask" }).first().click();
    await eventually(() => composer().evaluate((area) => area.value === "About `negative-input`: " && area === document.activeElement));
    await page.keyboard.type("what about zero?");
    await button("Tell the builder").click();
    await seen(message("user").filter({ hasText: "what about zero?" }));
  });
  await covers("a comment on a line, by arrow keys and Enter, goes to the builder", async () => {
    await page.locator(".turn-head", { hasText: "Turn 1" }).click();
    await page.locator(".lines").first().focus();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await seen(page.locator(".line-form textarea:focus"), 3000);
    await page.keyboard.type("Please keep it short.");
    await page.keyboard.press("Control+Enter");
    await seen(message("user").filter({ hasText: "Please keep it short." }));
    await seen(message("user").filter({ hasText: /src\/math\.sh:\d+/ }));
  });
  await covers("Stop ends a run", async () => {
    await button("Stop").click();
    await verdict("Stopped");
  });
}

async function landing() {
  await covers("Bring into my tree by click; Success, green; the verdict with every gate", async () => {
    await question("Bring it into your tree?");
    await button("Bring into my tree").click();
    await seen(message("success"), 20_000);
    await isColoured("success", "green");
    await verdict("Approved");
    for (const gate of ["Tests", "Red → green", "Review", "Findings"]) await seen(page.locator(".gate-name", { hasText: gate }));
    assert.match(content("src/math.sh"), /factorial\(\)/);
    await isAccessible("an approved run");
  });
  await covers("Undo asks and takes the change back", async () => {
    await button("Undo").click();
    await isAccessible("a dialog");
    await button("Take it back").click();
    await seen(page.getByText("taken back from your tree"));
    assert.doesNotMatch(content("src/math.sh"), /factorial\(\)/);
    await seen(message("status").filter({ hasText: "then taken back. Land brings it into your tree again." }));
    assert.equal(await message("warning").count(), 0);
    assert.equal(await page.getByText("checkmate land").count(), 0);
  });
}

async function followUp() {
  await covers("a follow-up goes on from the shown run; Deny by key, Not now by key, then Land", async () => {
    await seen(page.getByRole("checkbox", { name: "Goes on from this run", checked: true }));
    await composer().fill("Now also handle zero in factorial");
    await button("Run Cycle").click();
    await seen(message("user").filter({ hasText: "handle zero" }));
    await seen(page.locator(".earlier", { hasText: "Add factorial and listen" }));
    await question("wc -l src/math.sh");
    await page.locator(".timeline").focus();
    await page.keyboard.press("n");
    await seen(message("user").filter({ hasText: ": no." }), 20_000);
    await question("Bring it into your tree?");
    await page.locator(".timeline").focus();
    await page.keyboard.press("n");
    await seen(button("Land"), 20_000);
    await button("Land").click();
    await button("Into my tree").click();
    await seen(message("success"), 20_000);
    assert.match(content("src/math.sh"), /factorial\(\)/);
    await button("Undo").click();
    await button("Take it back").click();
    await seen(page.getByText("taken back from your tree"));
  });
}

async function lostConnection() {
  await covers("Always by click; a question answered elsewhere goes; too late says so", async () => {
    await button("New request").click();
    await composer().fill("Add factorial to src/math.sh");
    await button("Run Cycle").click();
    await question("wc -l src/math.sh");
    await button("Always").click();
    await seen(message("user").filter({ hasText: ": yes." }), 20_000);
    await question("Bring it into your tree?");
    const first = page;
    await open(world.address);
    await page.locator(".run").first().click();
    await question("Bring it into your tree?");
    // The second page does not see for a moment what happens, as over a slow line.
    await page.evaluate(() => {
      globalThis.held = [];
      globalThis.draw = globalThis.requestAnimationFrame;
      globalThis.requestAnimationFrame = (callback) => globalThis.held.push(callback);
    });
    await Promise.all([first, page].map((one) => one.locator(".timeline").focus()));
    await first.keyboard.press("n");
    await first.locator(".question").waitFor({ state: "hidden" });
    await page.keyboard.press("y");
    await page.evaluate(() => {
      globalThis.requestAnimationFrame = globalThis.draw;
      for (const callback of globalThis.held) globalThis.draw(callback);
    });
    await seen(page.locator(".notice.error"));
    await gone(page.locator(".question"));
    await page.context().close();
    show(first);
  });
  await covers("without a daemon the panel says so, keeps what it shows, and misses nothing when it is back", async () => {
    const before = await message("review").count();
    await world.stop();
    await seen(page.getByText("No connection to the daemon"));
    await seen(page.getByText("checkmate serve", { exact: true }));
    await seen(page.getByText(/ws:\/\/localhost:/));
    await isAccessible("no daemon");
    assert.equal(await message("review").count(), before);
    await world.start(repository, script("oscillation"));
    await connected();
    assert.equal(await message("review").count(), before, "nothing twice");
  });
}

async function listAndSettings() {
  await covers("the history by day, by arrow keys, and a search with /", async () => {
    await seen(page.getByRole("heading", { name: "Today" }));
    assert((await page.locator(".run").count()) >= 3);
    await page.locator(".timeline").focus();
    await page.keyboard.press("/");
    await page.keyboard.type("zero handle");
    await seen(page.getByText("1 run found"));
    await seen(page.locator("mark"));
    assert.doesNotMatch(await page.locator(".excerpt").first().textContent(), /["{}[\]]/);
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await seen(message("user").filter({ hasText: "handle zero" }));
    await page.keyboard.press("/");
    await page.keyboard.press("Escape");
    await seen(page.getByRole("heading", { name: "Today" }));
  });
  await covers("another workspace by its path, a wrong one told, and the switch between them", async () => {
    await page.locator(".workspace").click();
    const field = page.getByLabel("Open another: a folder in a git repository");
    await field.fill("/nowhere/at/all");
    await button("Open").click();
    await seen(page.locator("dialog .err"));
    await field.fill(other);
    await button("Open").click();
    await seen(page.locator(".workspace", { hasText: "words" }));
    await page.locator(".workspace").click();
    await page.locator("dialog").getByRole("button", { name: /billing/ }).click();
    await seen(page.locator(".workspace", { hasText: "billing" }));
  });
  await covers("settings: errors while typing, Save, and a conflict told", async () => {
    await button("Settings").click();
    const text = page.getByRole("textbox", { name: /The file/ });
    await seen(page.getByRole("row", { name: /approve_patches/ }));
    await text.fill('{ "max_iterations": "many" }');
    await seen(page.locator(".problems .err"));
    assert(await button("Save").isDisabled());
    await isAccessible("settings");
    await text.fill('{\n  "test_command": "sh test/run.sh",\n  "approve_patches": true,\n  "max_iterations": 1\n}\n');
    await gone(page.locator(".problems .err"));
    await page.getByText("Nothing is wrong with it.").or(page.locator(".problems .warn")).first().waitFor();
    await button("Save").click();
    await seen(page.getByText("Saved."));
    assert.equal(JSON.parse(content(".dualagent.json")).max_iterations, 1);
    writeFileSync(join(repository, ".dualagent.json"), '{ "test_command": "sh test/run.sh", "approve_patches": true, "max_iterations": 2 }\n');
    await text.fill('{ "test_command": "sh test/run.sh", "approve_patches": true, "max_iterations": 1 }\n');
    await page.waitForTimeout(800);
    await button("Save").click();
    await seen(page.getByText("changed by somebody else"));
    await button("Keep mine, to save over it").click();
    await page.waitForTimeout(800);
    await button("Save").click();
    await seen(page.getByText("Saved."));
    await button("Close").click();
  });
}

/** One turn only, and patches that a person approves. */
async function refusal() {
  await covers("a patch that waits: Decline with words, Apply; the turn limit is a Warning, yellow", async () => {
    await world.stop();
    await world.start(repository, script("factorial"));
    await connected();
    await button("New request").click();
    await composer().fill("Add factorial to src/math.sh, with words for a decline");
    await button("Run Cycle").click();
    await question("May it be applied");
    await seen(page.locator(".question .line.add"));
    await isAccessible("a patch that waits");
    await page.locator(".timeline").focus();
    await page.keyboard.press("c");
    await page.keyboard.type("Use a loop.");
    await page.keyboard.press("Control+Enter");
    await seen(message("warning"), 30_000);
    await isColoured("warning", "yellow");
    await verdict("Not approved");
    await seen(page.getByRole("heading", { name: "What would change it" }));
    await button("New request").click();
    await composer().fill("Add factorial to src/math.sh, applied");
    await button("Run Cycle").click();
    await question("May it be applied");
    await button("Apply").click();
    await seen(message("warning").filter({ hasText: /turn|iteration/i }), 30_000);
    await seen(page.getByText("The turns are used up."));
    await isAccessible("a refusal");
  });
  await covers("the end of a budget, and Resume with a larger one", async () => {
    writeFileSync(join(repository, ".dualagent.json"), '{ "test_command": "sh test/run.sh", "budget": { "max_calls": 2 } }\n');
    await button("New request").click();
    await composer().fill("Add factorial to src/math.sh for two requests");
    await button("Run Cycle").click();
    await seen(page.getByText("The budget leaves no room for the next step."), 20_000);
    await button("Resume").click();
    await page.getByLabel("Requests").fill("20");
    await page.locator("dialog").getByRole("button", { name: "Resume" }).click();
    await seen(message("status").filter({ hasText: "The budget was changed." }), 20_000);
    await question("Bring it into your tree?");
    await page.locator(".timeline").focus();
    await page.keyboard.press("n");
    await gone(page.locator(".question"));
  });
  await covers("an Error is red, and Resume tries again", async () => {
    writeFileSync(join(repository, ".dualagent.json"), '{ "test_command": "sh test/run.sh" }\n');
    await world.stop();
    await world.start(repository, { version: 1, replay: [], when_exhausted: "error" });
    await connected();
    await button("New request").click();
    await composer().fill("Add factorial without any agent");
    await button("Run Cycle").click();
    await seen(message("error"), 20_000);
    await isColoured("error", "red");
    await button("Resume").click();
    await page.locator("dialog").getByRole("button", { name: "Resume" }).click();
    await eventually(async () => (await message("error").count()) === 2);
  });
}

async function narrow() {
  await covers("500 px wide: one column, the verdict as a line that opens, the runs behind a button", async () => {
    await page.setViewportSize({ width: 500, height: 900 });
    await button("Runs").click();
    await page.locator(".run", { hasText: "handle zero" }).click();
    await seen(page.locator(".strip-head"));
    await page.locator(".strip-head").click();
    await seen(page.locator(".strip .gate-name", { hasText: "Tests" }));
    assert(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "nothing is wider than the page");
    await isAccessible("narrow");
    await page.emulateMedia({ colorScheme: "light" });
    await isAccessible("narrow and light");
    await page.setViewportSize({ width: 1440, height: 900 });
    await isAccessible("light");
  });
}

async function places() {
  await covers("a run that waits for its turn is told and can be stopped", async () => {
    await world.stop();
    await world.start(repository, script("factorial", () => ({ latency_ms: 4000 })), "--max-runs", "1");
    await connected();
    for (const text of ["Go first", "Go second"]) {
      await button("New request").click();
      await composer().fill(text);
      await button("Run Cycle").click();
      await seen(message("user").filter({ hasText: text }));
    }
    await verdict("Queued");
    await seen(message("status").filter({ hasText: "Queued: it begins when its turn comes." }));
    await button("Stop").click();
    await verdict("Stopped");
    await page.locator(".run", { hasText: "Go first" }).click();
    await button("Stop").click();
    await verdict("Stopped");
  });
  await covers("a page with a wrong token says that it is the token", async () => {
    const before = page;
    await open(`http://localhost:${world.port}/#token=wrong`);
    await seen(page.getByText("The daemon does not let this page in"));
    await seen(page.getByText("daemon/token"));
    await page.context().close();
    show(before);
  });
}

async function example() {
  await covers("the example of a client in JavaScript was told every event once, over every restart", async () => {
    const ends = () => world.told.filter((line) => line.endsWith(" cycle_complete")).length;
    assert(ends() >= 2, world.told.slice(-5).join("\n"));
    assert.equal(world.client.exitCode, null, "it goes on");
    const next = new Map();
    for (const line of world.told) {
      const [run, seq] = line.split(" ");
      assert.equal(Number(seq), next.get(run) ?? 1, line);
      next.set(run, Number(seq) + 1);
    }
  });
}

const LATEST = 420_000;
const alarm = setTimeout(() => {
  console.error(`not ok - ${step}: it took too long`);
  process.exit(1);
}, LATEST);
try {
  await world.start(repository, slow);
  world.follow();
  await firstRun();
  await landing();
  await talking();
  await followUp();
  await lostConnection();
  await listAndSettings();
  await refusal();
  await narrow();
  await places();
  await example();
  await edges();
  assert.deepEqual(problems, []);
  console.log(`1..${count}`);
} catch (error) {
  console.error(`not ok - ${step}\n${error.stack ?? error}`);
  for (const problem of problems) console.error(`  ${problem}`);
  await page?.screenshot({ path: process.env.PICTURE ?? "/tmp/panel-failed.png" }).catch(() => {});
  process.exitCode = 1;
} finally {
  clearTimeout(alarm);
  await browser.close();
  await world.end();
}
