// What goes wrong around a person, in moments that a real daemon does not come to on demand: a stand-in tells the panel
// what it would. A part of tests/panel.mjs.
import assert from "node:assert/strict";
import { browser, button, composer, covers, eventually, gone, message, page, problems, question, seen, show, step, verdict } from "./driver.mjs";
import { recorded, servePanel, standIn, stateOf } from "./harness.mjs";

const factorial = recorded("factorial");
const first = factorial[0];
const second = factorial.findIndex((frame) => frame.event.type === "turn_started" && frame.event.turn === 2);
/** A run whose second turn goes on, with a finding that stands. */
const building = factorial.slice(0, second + 3);
const now = () => new Date().toISOString();
const named = (frames, run, more = {}) => frames.map((frame) => ({ ...frame, run, ...(frame.event.type === "run_started" ? { event: { ...frame.event, ...more } } : {}) }));
const run = (name, frames, state = {}) => ({ frames: named(frames, name, state.workspace && { workspace: state.workspace }), state: { ...stateOf(frames), run: name, ...state } });
const A = "/home/ada/billing";
const B = "/home/ada/words";
const workspaces = [
  { root: A, name: "billing", branch: "main", problem: null },
  { root: B, name: "words", branch: "main", problem: null },
];
const values = [{ key: "builder.max_output_tokens", value: "32000", from: "the default" }];
const configuration = { type: "configuration", path: `${A}/checkmate.jsonc`, text: "{\n}\n", errors: [], warnings: [], values };
const settingsText = () => page.getByRole("textbox", { name: /The file/ });
let server;

/** Opens the panel with a stand-in that knows these runs; `shown` is what the tab showed before. */
async function scene(runs, { shown = null, ...options } = {}) {
  if (page?.context().pages().length > 0) await page.context().close();
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, colorScheme: "dark", ...options });
  const opened = await context.newPage();
  opened.setDefaultTimeout(10_000);
  opened.on("pageerror", (error) => problems.push(`${step}: ${error}`));
  const daemon = await standIn(opened, { runs, workspaces, configuration });
  if (shown !== null) await opened.addInitScript((name) => sessionStorage.setItem("checkmate.run", name), shown);
  show(opened);
  await opened.goto(server.url);
  await seen(page.getByText("connected", { exact: true }));
  return daemon;
}

const ask = (name, gate, what, seq) => ({ event: { type: "question_asked", gate, question: what }, run: name, task: "main", seq, at: now() });
const command = (line) => ({ question: "command", role: "builder", line });
const of = (daemon, type) => daemon.sent.filter((one) => one.type === type);
const lose = async (daemon) => {
  for (const socket of daemon.sockets) await socket.close({ code: 1006 });
};
const hasFocus = (locator) => eventually(() => locator.evaluate((element) => element === document.activeElement));

async function queued() {
  await covers("a queued run says what was asked for and that it waits, is told things and is stopped", async () => {
    const daemon = await scene([run("20261122-100000-aaaa", [first], { standing: "queued", workspace: A, request: "Speed up the export" })].map((one) => ({ ...one, frames: [] })));
    await page.locator(".run").click();
    await seen(message("user").filter({ hasText: "Speed up the export" }));
    await seen(message("status").filter({ hasText: "Queued: it begins when its turn comes." }));
    await verdict("Queued");
    await composer().fill("Only the CSV one");
    await page.keyboard.press("Control+Enter");
    await eventually(() => of(daemon, "comment").length === 1);
    await button("Stop").click();
    await eventually(() => of(daemon, "cancel").length === 1);
    assert.equal(of(daemon, "run_cycle").length, 0);
  });
}

async function repositories() {
  const ours = run("20261122-100000-aaaa", factorial, { workspace: A, request: "In billing" });
  const theirs = run("20261122-110000-bbbb", factorial, { workspace: B, request: "In words" });
  await covers("a run is followed up in its own repository, and not from another one", async () => {
    const daemon = await scene([theirs, ours]);
    daemon.answers.run_cycle = (_, { reply }) => reply({ type: "error", error: "Run `checkmate doctor`." }) ?? true;
    await seen(page.locator(".run", { hasText: "In words" }).getByText("words ·"));
    await seen(page.locator(".workspace", { hasText: "billing" }));
    await page.locator(".run", { hasText: "In words" }).click();
    await seen(page.locator(".workspace", { hasText: "words" }));
    await composer().fill("More of it");
    await button("Run Cycle").click();
    await eventually(() => of(daemon, "run_cycle").length === 1);
    await seen(page.locator(".notice code", { hasText: "checkmate doctor" }));
    await page.locator(".workspace").click();
    await page.locator("dialog").getByRole("button", { name: /billing/ }).click();
    await gone(page.getByRole("checkbox", { name: "Goes on from this run" }));
    await button("Run Cycle").click();
    await eventually(() => of(daemon, "run_cycle").length === 2);
    const [follow, fresh] = of(daemon, "run_cycle");
    assert.deepEqual([follow.workspace, follow.follows, fresh.workspace, fresh.follows], [B, theirs.state.run, A, null]);
  });
  await covers("what is being written stays with its run, and Ask comes after it", async () => {
    await scene([run("20261122-120000-cccc", building, { workspace: A, request: "Under way" }), ours]);
    await composer().fill("A new request");
    await page.locator(".run", { hasText: "Under way" }).click();
    await eventually(async () => (await composer().inputValue()) === "");
    await composer().fill("To the builder");
    await page.getByRole("region", { name: "Issues" }).getByRole("button", { name: "Ask" }).first().click();
    await eventually(async () => (await composer().inputValue()) === "To the builder\nAbout `negative-input`: ");
    await button("New request").click();
    await eventually(async () => (await composer().inputValue()) === "A new request");
  });
}

async function questions() {
  const asked = run("20261122-100000-aaaa", building, { workspace: A, standing: "waiting", request: "Under way" });
  const name = asked.state.run;
  const seq = building.length;
  await covers("a held key answers one question, and none that has just appeared; the focus goes to the conversation", async () => {
    const daemon = await scene([asked], { shown: name });
    await verdict("Changes requested");
    daemon.answers.answer = (sent, { reply, send }) => {
      reply({ type: "done", message: "Answered." });
      send({ event: { type: "question_answered", gate: sent.gate, yes: true, text: "" }, run: name, task: "main", seq: seq + 2 * of(daemon, "answer").length });
      if (sent.gate !== "g1") return true;
      send(ask(name, "g2", command("rm -r build"), seq + 3));
      return true;
    };
    await page.locator(".timeline").focus();
    daemon.send(ask(name, "g1", command("ls"), seq + 1));
    await seen(page.locator(".question"));
    await page.keyboard.press("y");
    assert.equal(of(daemon, "answer").length, 0);
    await page.waitForTimeout(550);
    await button(/^Allow once/, { exact: false }).focus();
    await page.keyboard.down("y");
    await question("rm -r build");
    await page.keyboard.down("y");
    await page.keyboard.down("y");
    assert.equal(of(daemon, "answer").length, 1);
    await page.keyboard.up("y");
    await page.keyboard.press("c");
    await seen(page.locator(".question textarea:focus"));
    await page.keyboard.press("Escape");
    await hasFocus(page.locator('.question [aria-keyshortcuts="c"]'));
    await page.keyboard.press("y");
    await gone(page.locator(".question"));
    await hasFocus(page.locator(".timeline"));
    assert.equal(of(daemon, "answer").length, 2);
  });
  await covers("the settings hide no question, and a draft is not dropped without asking", async () => {
    const daemon = await scene([asked, run("20261122-090000-bbbb", factorial, { workspace: A, request: "Before" })], { shown: name });
    await verdict("Changes requested");
    await button("Settings").click();
    await settingsText().fill('{ "land": "ask" }');
    daemon.send(ask(name, "g1", command("ls"), seq + 1));
    await seen(page.locator(".settings .question"));
    assert.equal(await page.locator("button.primary:visible").count(), 1, "one blue button at a time");
    await page.locator(".run", { hasText: "Before" }).click();
    await page.locator("dialog").getByRole("button", { name: "Cancel" }).click();
    assert.equal(await settingsText().inputValue(), '{ "land": "ask" }');
    await page.locator(".run", { hasText: "Before" }).click();
    await button("Leave without saving").click();
    await seen(message("success"));
  });
  await covers("the change is shown with the question whether it lands", async () => {
    const daemon = await scene([asked], { shown: name });
    await verdict("Changes requested");
    daemon.send(ask(name, "g1", { question: "land" }, seq + 1));
    await page.locator(".question").getByText("Show the change").click();
    await seen(page.locator(".question .line.add", { hasText: "factorial() {" }));
  });
  await covers("after a comment or a dispute is left, the focus is where it began", async () => {
    await scene([asked], { shown: name });
    await page.locator(".turn-head", { hasText: "Turn 1" }).click();
    await page.locator(".lines").first().focus();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowDown");
    const number = page.locator("button.no:focus");
    const label = await number.getAttribute("aria-label");
    await page.keyboard.press("Enter");
    await seen(page.locator(".line-form textarea:focus"));
    await page.keyboard.press("Escape");
    await hasFocus(page.getByRole("button", { name: label, exact: true }).first());
    const dispute = page.getByRole("region", { name: "Issues" }).getByRole("button", { name: "Dispute" });
    await dispute.first().click();
    await page.getByRole("region", { name: "Issues" }).getByRole("button", { name: "Cancel" }).click();
    await hasFocus(dispute.first());
  });
}

async function connections() {
  await covers("a request that was lost on the way may have arrived, and is not made twice unseen", async () => {
    const runs = [];
    const daemon = await scene(runs);
    daemon.answers.run_cycle = () => {
      runs.push(run("20261122-130000-dddd", building, { workspace: A, request: "Do it once" }));
      void lose(daemon);
      return true;
    };
    await composer().fill("Do it once");
    daemon.refuse = true;
    await button("Run Cycle").click();
    await seen(page.locator(".notice", { hasText: "may have been done" }));
    await seen(page.getByText("disconnected", { exact: true }));
    daemon.refuse = false;
    await seen(page.locator(".notice", { hasText: "A run with this request began" }), 20_000);
    assert.equal(await composer().inputValue(), "Do it once");
    assert.equal(of(daemon, "run_cycle").length, 1);
    await page.locator(".notice").getByRole("button", { name: "Show it" }).click();
    await seen(message("user").filter({ hasText: first.event.request }));
  });
  await covers("that it is connected is said once, not in a run, and later only in passing", async () => {
    const daemon = await scene([run("20261122-100000-aaaa", factorial, { workspace: A })]);
    const said = message("status").filter({ hasText: "Connected to daemon" });
    await seen(said);
    await page.locator(".run").click();
    await seen(message("success"));
    await lose(daemon);
    await seen(page.locator(".notice", { hasText: "Connected again." }), 20_000);
    assert.equal(await said.count(), 0);
    await button("New request").click();
    await seen(said);
    await lose(daemon);
    await seen(page.locator(".notice", { hasText: "Connected again." }), 20_000);
    assert.equal(await said.getByText("Connected to daemon").count(), 1);
    await gone(page.locator(".notice"));
  });
  await covers("a greeting of a connection that is lost by now opens nothing", async () => {
    const daemon = await scene([]);
    daemon.answers.hello = (_, { reply }) => {
      reply({ type: "hello", version: 1, program: "0", workspaces, runs_at_once: 1 });
      daemon.refuse = true;
      setTimeout(() => void lose(daemon), 100);
      return true;
    };
    await page.evaluate(() => {
      globalThis.draw = globalThis.requestAnimationFrame;
      globalThis.held = [];
    });
    await lose(daemon);
    await seen(page.getByText("disconnected", { exact: true }));
    await page.evaluate(() => (globalThis.requestAnimationFrame = (callback) => globalThis.held.push(callback)));
    await eventually(() => of(daemon, "hello").length >= 2);
    await page.waitForTimeout(400);
    await page.evaluate(() => {
      globalThis.requestAnimationFrame = globalThis.draw;
      for (const callback of globalThis.held) globalThis.draw(callback);
    });
    await page.waitForTimeout(100);
    assert.equal(await page.getByText("connected", { exact: true }).count(), 0);
  });
  await covers("a daemon that does not talk to this panel says why, and is asked again", async () => {
    const daemon = await scene([]);
    daemon.answers.hello = (_, { reply }) => reply({ type: "error", error: "The version 1 is not spoken here." }) ?? true;
    await lose(daemon);
    await seen(page.getByText("The version 1 is not spoken here."), 20_000);
    delete daemon.answers.hello;
    await button("Try now").click();
    await seen(page.getByText("connected", { exact: true }));
  });
}

async function knowledge() {
  const old = run("20260101-100000-oooo", building, { workspace: A, standing: "interrupted", request: "Long ago" });
  const fresh = run("20261122-100000-aaaa", factorial, { workspace: A, request: "Today" });
  const paged = (daemon) => {
    daemon.answers.list_runs = (sent, { reply }) => reply({ type: "runs", runs: [sent.before == null ? fresh.state : old.state], more: sent.before == null }) ?? true;
  };
  await covers("an interrupted run that the list does not reach is known for one, from a search", async () => {
    const daemon = await scene([fresh, old]);
    paged(daemon);
    await page.reload();
    await seen(button("Older runs"));
    await page.keyboard.press("/");
    daemon.whole = false;
    await page.keyboard.type("Long");
    await seen(page.getByText("Older runs are still being read."));
    await page.locator(".run", { hasText: "Long ago" }).click();
    await verdict("Interrupted");
    await seen(button("Resume"));
    assert.equal(await button("Stop").count(), 0);
    // And again in a tab that shows it from the beginning.
    await page.reload();
    await verdict("Interrupted");
    await seen(button("Resume"));
  });
  await covers("tests on the tree are told where they were asked for, as what they are", async () => {
    const daemon = await scene([fresh]);
    let reply;
    daemon.answers.run_tests = (_, tell) => Boolean((reply = tell.reply));
    await button("Run Tests").click();
    await eventually(() => reply !== undefined);
    await page.locator(".run").click();
    await seen(message("success"));
    const count = await message("tests").count();
    reply(factorial.find((frame) => frame.event.type === "tests_output").event);
    await seen(page.locator(".notice", { hasText: "The tests on your tree are green." }));
    assert.equal(await message("tests").count(), count);
    await button("New request").click();
    await seen(message("tests").filter({ hasText: "on your tree" }));
    assert.equal(await message("tests").filter({ hasText: "baseline" }).count(), 0);
  });
  await covers("a run that failed is resumed with a larger budget", async () => {
    const end = { event: { type: "outcome", outcome: { outcome: "error", message: "No key." } }, run: "", task: "main", seq: building.length + 1, at: now() };
    const failed = run("20261122-100000-aaaa", [...building, end], { workspace: A, standing: "error" });
    const daemon = await scene([failed], { shown: failed.state.run });
    await button("Resume").click();
    await page.getByLabel("Requests").fill("20");
    await page.locator("dialog").getByRole("button", { name: "Resume" }).click();
    await eventually(() => of(daemon, "resume")[0]?.budget?.calls === 20);
  });
  await covers("what is typed while the settings are saved is checked as well", async () => {
    const daemon = await scene([fresh]);
    let saved;
    daemon.answers.save_configuration = (_, { reply }) => Boolean((saved = () => reply({ ...configuration, saved: true })));
    await button("Settings").click();
    await settingsText().fill("{}");
    await page.waitForTimeout(500);
    await button("Save").click();
    await eventually(() => saved !== undefined);
    await settingsText().fill("{ wrong");
    saved();
    await eventually(() => of(daemon, "check_configuration").some((sent) => sent.text === "{ wrong"));
    assert.equal(await page.getByText("Saved.").count(), 0);
  });
}

async function looks() {
  const name = "20261122-100000-aaaa";
  await covers("the conversation keeps its room at 1000 px, and every option is there at 400 px", async () => {
    await scene([run(name, building, { workspace: A, request: "Under way" })], { shown: name, viewport: { width: 1000, height: 800 } });
    await verdict("Changes requested");
    const width = await page.locator(".conversation").evaluate((element) => element.clientWidth);
    assert(width > 500, `${width} px`);
    await page.locator(".turn-head", { hasText: "Turn 1" }).click();
    await button("Side by side").first().click();
    const sunk = await page.locator(".pair button.no").evaluateAll((numbers) => {
      const range = document.createRange();
      const below = (number) => {
        range.selectNodeContents(number);
        return range.getBoundingClientRect().top - number.getBoundingClientRect().top;
      };
      return Math.max(...numbers.filter((number) => number.offsetHeight > 30).map(below));
    });
    assert(sunk >= 0 && sunk < 6, `the number of a line that goes on below stands ${sunk} px under its beginning`);
    assert.equal(await page.locator(".run").count(), 0);
    await button("Runs").click();
    await page.locator(".run").click();
    await gone(page.locator(".list"));
    await page.setViewportSize({ width: 400, height: 800 });
    await page.locator(".composer").getByText("Options").click();
    await page.getByLabel("When approved").selectOption("commit");
    await page.getByLabel("Kind of change").selectOption("bugfix");
    await seen(page.getByText("Options, changed"));
    assert(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "nothing is wider than the page");
    await button("Settings").click();
    const from = page.locator(".settings td", { hasText: "the default" });
    await seen(from);
    const [word, cell] = await from.evaluate((element) => {
      const range = document.createRange();
      range.setStart(element.firstChild, 4);
      range.setEnd(element.firstChild, 11);
      return [range.getClientRects().length, element.clientWidth];
    });
    assert.equal(word, 1, `"default" is broken in a cell of ${cell} px`);
  });
  await covers("in forced colours it is seen what is pressed, current and first", async () => {
    await scene([run(name, building, { workspace: A })], { shown: name, forcedColors: "active" });
    await page.locator(".turn-head", { hasText: "Turn 1" }).click();
    const colours = (locator) => locator.first().evaluate((element) => [getComputedStyle(element).backgroundColor, getComputedStyle(element).color]);
    const back = async (locator) => (await colours(locator))[0];
    const chosen = await page.evaluate(() => {
      document.body.style.setProperty("caret-color", "Highlight");
      document.body.style.setProperty("outline-color", "HighlightText");
      const { caretColor, outlineColor } = getComputedStyle(document.body);
      return [caretColor, outlineColor];
    });
    assert.notDeepEqual(await colours(button("Side by side")), chosen);
    for (const one of [button("Inline"), page.locator(".run[aria-current]")]) assert.deepEqual(await colours(one), chosen);
    assert.equal((await colours(page.locator(".run[aria-current] .run-request")))[1], chosen[1]);
    await composer().fill("More");
    await seen(page.locator("button.primary:enabled"));
    assert.notEqual(await back(page.locator("button.primary:enabled")), await back(button("Run Tests")));
    assert.notEqual(await back(page.locator(".connection .dot")), await back(page.locator("body")));
  });
  await covers("a comment that is being written stays when it is scrolled away, and a button leads back to the end", async () => {
    const patch = factorial.findIndex((frame) => frame.event.type === "patch_ready");
    const frames = factorial.slice(0, patch + 1);
    while (frames.length < 700) {
      const event = { type: "command_taken", command: { command: "comment", text: `Comment ${frames.length}.`, path: null, line: null } };
      frames.push({ event, run: "", task: "main", seq: frames.length + 1, at: now() });
    }
    await scene([run(name, frames, { workspace: A })], { shown: name });
    await seen(page.getByText("Comment 699."));
    const timeline = page.locator(".timeline");
    await timeline.evaluate((element) => (element.scrollTop = 0));
    await page.locator("button.no").first().click();
    await page.keyboard.type("Half a thought");
    await timeline.evaluate((element) => (element.scrollTop = element.scrollHeight / 2));
    await page.waitForTimeout(300);
    await timeline.evaluate((element) => (element.scrollTop = 0));
    await page.waitForTimeout(300);
    assert.equal(await page.locator(".line-form textarea").inputValue(), "Half a thought");
    await button("To the latest").click();
    await gone(button("To the latest"));
    await seen(page.getByText("Comment 699."));
  });
}

export async function edges() {
  server = await servePanel();
  try {
    for (const part of [queued, repositories, questions, connections, knowledge, looks]) await part();
    await page.context().close();
  } finally {
    server.close();
  }
}
