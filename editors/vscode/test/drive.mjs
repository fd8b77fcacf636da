// Drives the packed extension in a real VS Code. test/run.sh prepares what it needs and starts it.
import { createServer } from "node:http";
import { WebSocket } from "ws";
import { Workbench } from "./workbench.mjs";
import { World } from "./world.mjs";

const GOAL = "Add a function to src/math.sh that calculates factorial, with proper error handling and tests";
const world = new World({ cache: process.env.CACHE, vsix: process.env.VSIX, checkmate: process.env.CHECKMATE });
const began = Date.now();
let bench = null;
let failed = true;

/** One thing that a person does, and what has to come of it. */
async function step(name, work) {
  await work();
  console.log(`ok ${((Date.now() - began) / 1000).toFixed(1)} s  ${name}`);
}

/** Somebody else who answers: another client of the daemon. */
function somebodyElse(message) {
  return new Promise((keep, fail) => {
    const socket = new WebSocket(`ws://127.0.0.1:${world.daemonPort}/`, ["checkmate.v1", `checkmate.token.${world.token}`]);
    socket.on("error", fail);
    socket.on("open", () => socket.send(JSON.stringify({ ...message, id: 1 })));
    socket.on("message", (data) => {
      const frame = JSON.parse(String(data));
      if (frame.re !== 1) return;
      socket.close();
      keep(frame.event);
    });
  });
}

const problems = (text) => bench.page.locator(".markers-panel .monaco-list-row", { hasText: text });

/** Waits until an editor on the screen shows this. */
function editorSays(words) {
  return bench.until(`${words} in an editor`, async () => {
    const texts = await bench.page.locator(".editor-instance .view-lines").allInnerTexts();
    return texts.some((text) => text.replaceAll("\u00a0", " ").includes(words));
  });
}

async function openProblem(text) {
  await problems(text).first().dblclick();
  await bench.page.locator(".editor-instance .squiggly-error").first().waitFor();
}

/** A quick fix where the cursor stands. */
async function quickFix(name) {
  const fix = bench.page.locator(".action-widget").getByText(name).first();
  await bench.until(`the quick fix ${name}`, async () => {
    if (await fix.isVisible()) return true;
    await bench.page.keyboard.press("Control+.");
    await bench.page.waitForTimeout(800);
    return fix.isVisible();
  });
  return fix;
}

async function opening() {
  await step("the palette has `DualAgent: Open Panel` and `Checkmate: Open Panel`", async () => {
    await bench.until("both commands in the palette", async () => {
      const rows = await (await bench.palette("Open Panel")).allTextContents();
      return ["DualAgent: Open Panel", "Checkmate: Open Panel"].every((name) => rows.some((row) => row.includes(name)));
    });
    await bench.shot("palette");
  });
  await step("without a daemon the panel says so, with the address and the command", async () => {
    await bench.command("DualAgent: Open Panel");
    const panel = await bench.panel();
    await panel.getByText(`ws://localhost:${world.daemonPort}`).first().waitFor();
    await panel.getByText("checkmate serve").first().waitFor();
    await bench.until("a status item that is disconnected", async () => (await bench.status.innerHTML()).includes("debug-disconnect"));
    await bench.shot("disconnected");
  });
  await step("a program that is not there is told, with where it was looked for and how to get it", async () => {
    world.set({ "checkmate.path": "/nowhere/checkmate" });
    await bench.page.waitForTimeout(1500);
    await bench.command("Checkmate: Start Daemon");
    await bench.notification("was not found at /nowhere/checkmate").waitFor();
    await bench.notification("cargo install --locked --path crates/checkmate").waitFor();
    await bench.shot("no-program");
    await bench.press("was not found at /nowhere/checkmate", "Open Settings");
    await bench.until("the setting", async () => {
      const values = await bench.page.locator(".settings-editor .setting-item-contents input").evaluateAll((inputs) => inputs.map((input) => input.value));
      return values.includes("/nowhere/checkmate");
    });
    await bench.shot("setting-of-the-program");
    await bench.command("View: Close All Editors");
    await bench.command("DualAgent: Open Panel");
    world.set({ "checkmate.path": "" });
    await bench.page.waitForTimeout(1500);
  });
  await step("the command starts the daemon, and the panel connects", async () => {
    await bench.command("Checkmate: Start Daemon");
    await bench.notification(`Connected to daemon at ws://localhost:${world.daemonPort}`).waitFor();
    await (await bench.panel()).getByText("Connected to daemon").first().waitFor();
    await bench.shot("connected");
  });
}

async function firstRun() {
  await step("Run Cycle… from the palette; a command of the builder asks", async () => {
    await bench.page.keyboard.press("Escape");
    await bench.command("Checkmate: Run Cycle…");
    await bench.type("Checkmate: Run Cycle", GOAL);
    await bench.told("asks to run: wc -l src/math.sh");
    await bench.until("a status item that waits", async () => (await bench.status.innerText()).includes("waiting for you · turn 2/3"));
    await (await bench.panel()).getByRole("button", { name: /Allow once/ }).waitFor();
    await bench.shot("question-of-a-command");
  });
  await step("the finding stands at its line, with quick fixes", async () => {
    await bench.command("Problems: Focus on Problems View");
    await problems("Missing validation").first().waitFor();
    await bench.shot("problems");
    await openProblem("Missing validation");
    await quickFix("Dispute…");
    await quickFix("Ask the builder…");
    await bench.shot("quick-fixes");
    await bench.page.keyboard.press("Escape");
  });
  await step("Allow once in the notification; the change asks to land", async () => {
    await bench.press("asks to run", "Allow once");
    await bench.told("Bring it into your working tree?");
    if (world.read("src/math.sh").includes("factorial")) throw new Error("The change is in the tree before anybody said so.");
  });
  await step("Show change opens VS Code's own diff editor", async () => {
    await bench.press("Bring it into your working tree?", "Show change");
    await bench.page.locator(".multiDiffEditor, .monaco-diff-editor").first().waitFor();
    await bench.page.locator(".monaco-diff-editor").getByText("factorial").first().waitFor();
    await bench.shot("native-diff");
  });
  await step("Bring into my tree in the notification; the change is there", async () => {
    await bench.press("Bring it into your working tree?", "Bring into my tree");
    await bench.until("the change in the working tree", async () => world.read("src/math.sh").includes("factorial()"));
    await bench.until("a status item that is approved", async () => (await bench.status.innerText()).includes("approved and in your tree"));
    await bench.until("the settled finding gone", async () => (await problems("Missing validation").count()) === 0);
    await problems("Consider adding a test for zero").first().waitFor();
    await bench.shot("landed");
  });
}

async function afterwards() {
  await step("the verdict is a page of text", async () => {
    await bench.command("Checkmate: Show Verdict");
    await bench.pick("Add a function");
    await editorSays("APPROVED");
    await bench.shot("verdict");
  });
  await step("the tests run on the tree", async () => {
    await bench.command("Checkmate: Run Tests");
    await bench.notification("The tests are green.").waitFor();
  });
  await step("the daemon's port is none that VS Code forwards and offers to open", async () => {
    // VS Code looks for ports now and then: a page of somebody's says when it has.
    const page = createServer((_, response) => response.end("A page"));
    await new Promise((keep) => page.listen(0, "127.0.0.1", keep));
    await bench.command("Ports: Focus on Ports View");
    const rows = (port) => bench.page.locator(".part.panel .monaco-list-row", { hasText: String(port) });
    await rows(page.address().port).first().waitFor({ timeout: 60_000 });
    await bench.shot("ports");
    page.close();
    if ((await rows(world.daemonPort).count()) > 0) throw new Error("The daemon is taken for a web page.");
    await bench.command("Problems: Focus on Problems View");
  });
  await step("Undo Run… takes the change back", async () => {
    await bench.command("Checkmate: Undo Run…");
    await bench.pick("Add a function");
    await bench.page.locator(".monaco-dialog-box").getByRole("button", { name: "Take Back" }).click();
    await bench.until("the tree as before", async () => world.git("status", "--porcelain").trim() === "");
    await bench.shot("undone");
  });
}

async function secondRun() {
  await step("the panel stands in the side bar too, and runs a cycle", async () => {
    await bench.command("View: Close All Editors");
    await bench.page.locator(".activitybar .action-label[aria-label*='Checkmate']").click();
    const panel = await bench.panel();
    const box = panel.getByRole("textbox").last();
    await box.click();
    await box.fill(GOAL);
    await panel.getByRole("button", { name: "Run Cycle" }).click();
    await panel.getByText("Waiting for you").first().waitFor({ timeout: 60_000 });
    await bench.shot("side-bar-asks");
  });
  await step("the panel opens a file of the change in the diff editor", async () => {
    await (await bench.panel()).getByRole("button", { name: /Open in editor/ }).last().click();
    await bench.page.locator(".monaco-diff-editor").getByText("of a negative number fails").first().waitFor();
    await bench.shot("diff-from-panel");
  });
  await step("a finding that is disputed with its quick fix is gone", async () => {
    await openProblem("Missing validation");
    await (await quickFix("Dispute…")).click();
    await bench.type("Checkmate: Dispute a finding", "Negative numbers were never asked for.");
    await bench.notification("the run takes it up").waitFor();
    await bench.until("the disputed finding gone", async () => (await problems("Missing validation").count()) === 0);
  });
  await step("an answer in the panel takes the notification away", async () => {
    await bench.notification("asks to run").waitFor();
    await (await bench.panel()).getByRole("button", { name: /Allow once/ }).click();
    await bench.until("no notification of the command", async () => (await bench.notifications("asks to run").count()) === 0);
    await bench.told("Bring it into your working tree?");
    await bench.shot("side-bar-landing");
  });
  await step("so does the answer of another client", async () => {
    const { runs } = await somebodyElse({ type: "list_runs", limit: 1 });
    const event = await somebodyElse({ type: "answer", run: runs[0].run, gate: await landGate(runs[0].run), reply: "no" });
    if (event.type !== "done") throw new Error(`Somebody else could not answer: ${JSON.stringify(event)}`);
    await bench.until("no notification of the landing", async () => (await bench.notifications("Bring it into your").count()) === 0);
    if (world.git("status", "--porcelain").trim() !== "") throw new Error("A declined change is in the tree.");
    await bench.shot("declined-elsewhere");
  });
}

/** The events of a kind that a run has told so far. */
function told(run, kind) {
  return new Promise((keep, fail) => {
    const socket = new WebSocket(`ws://127.0.0.1:${world.daemonPort}/`, ["checkmate.v1", `checkmate.token.${world.token}`]);
    const events = [];
    let latest = null;
    socket.on("error", fail);
    socket.on("open", () => {
      socket.send(JSON.stringify({ type: "hello", version: 1 }));
      socket.send(JSON.stringify({ type: "subscribe", run, from_seq: 1, id: 1 }));
    });
    socket.on("message", (data) => {
      const { event, seq, re } = JSON.parse(String(data));
      if (re === 1) latest = event.latest_seq;
      if (event.type === kind) events.push(event);
      if (latest === null || (latest > 0 && (seq ?? 0) < latest)) return;
      socket.close();
      keep(events);
    });
  });
}

/** The name of the question whether a run may land. */
async function landGate(run) {
  const asked = await told(run, "question_asked");
  return asked.find(({ question }) => question.question === "land").gate;
}

async function lostAndFound() {
  await step("a daemon that ends is noticed, and one that comes back is found", async () => {
    world.stopDaemon();
    await bench.until("a status item that is disconnected", async () => (await bench.status.innerHTML()).includes("debug-disconnect"));
    await (await bench.panel()).getByText("checkmate serve").first().waitFor();
    await bench.shot("daemon-gone");
    world.set({ "checkmate.autoStart": true });
    await bench.page.waitForTimeout(1500);
    await (await bench.panel()).getByRole("button", { name: "Try now" }).click();
    await bench.until("a connection", async () => !(await bench.status.innerHTML()).includes("debug-disconnect"), 60);
    await (await bench.panel()).getByText("connected", { exact: true }).waitFor();
    await bench.shot("daemon-back");
  });
  await step("the history finds a run by its words", async () => {
    await bench.command("Checkmate: Show History…");
    await bench.page.waitForTimeout(300);
    await bench.page.keyboard.insertText("factorial");
    await bench.pick("taken back");
    await bench.pick("Show the verdict");
    await editorSays("taken back");
    await editorSays("red green");
    await bench.shot("history");
  });
}

async function walkthrough() {
  await step("the walkthrough is there", async () => {
    await bench.command("Welcome: Open Walkthrough...");
    await bench.page.waitForTimeout(500);
    await bench.page.keyboard.insertText("Checkmate");
    await bench.pick("Get started with Checkmate");
    await bench.page.locator(".gettingStartedContainer").getByText("Read the verdict").first().waitFor();
    await bench.shot("walkthrough");
  });
}

async function settings() {
  await step("Open Settings shows the extension's own", async () => {
    await bench.command("Checkmate: Open Settings");
    await bench.pick("Settings of the extension");
    await bench.page.locator(".settings-editor").getByText("Auto Start").first().waitFor();
    await bench.page.locator(".settings-editor").getByText("Port").first().waitFor();
    await bench.shot("settings");
    await bench.page.keyboard.press("Escape");
  });
  await step("or the repository's configuration", async () => {
    await bench.command("Checkmate: Open Settings");
    await bench.pick("Configuration of the repository");
    await editorSays("test_command");
    await bench.command("View: Close All Editors");
  });
}

async function untrustedAndTwoFolders() {
  const workspace = world.secondRepository();
  await bench.close();
  bench = await Workbench.open(await world.open({ trust: true }), { workspace }, world.shots);
  await step("in folders that are not trusted nothing is connected to", async () => {
    await bench.command("Checkmate: Start Daemon");
    await bench.notification("This folder is not trusted").waitFor();
    await bench.until("a status item that is disconnected", async () => (await bench.status.innerHTML()).includes("debug-disconnect"));
    await bench.shot("untrusted");
  });
  await step("trust connects", async () => {
    await bench.press("This folder is not trusted", "Manage Trust");
    await bench.page.locator(".workspace-trust-editor").getByRole("button", { name: "Trust", exact: true }).click();
    await bench.until("a connection", async () => !(await bench.status.innerHTML()).includes("debug-disconnect"), 60);
    await bench.shot("trusted");
  });
  await step("Open Panel alone starts a daemon that is not there", async () => {
    const { pid } = world.daemonNote();
    world.stopDaemon();
    await bench.until("a status item that is disconnected", async () => (await bench.status.innerHTML()).includes("debug-disconnect"));
    await bench.command("View: Close All Editors");
    await bench.command("Checkmate: Open Panel");
    await bench.until("a connection", async () => !(await bench.status.innerHTML()).includes("debug-disconnect"), 60);
    await (await bench.panel()).getByText("Connected to daemon").last().waitFor();
    if (world.daemonNote().pid === pid) throw new Error("The daemon is still the old one.");
  });
  await step("with two folders the run's repository is asked for", async () => {
    await bench.command("View: Close All Editors");
    await bench.command("Checkmate: Run Cycle…");
    await bench.shot("two-folders");
    await bench.pick("second");
    await bench.type("Checkmate: Run Cycle", GOAL);
    await bench.told("May it be applied in the run's own tree?");
    const { runs } = await somebodyElse({ type: "list_runs", limit: 1 });
    if (!runs[0].workspace.endsWith("/second")) throw new Error(`The run is in ${runs[0].workspace}.`);
  });
  await step("Apply in the notification lets the change into the run's own tree, and a review finds something", async () => {
    await bench.press("May it be applied", "Apply");
    await bench.command("Problems: Focus on Problems View");
    await problems("Missing validation").first().waitFor({ timeout: 60_000 });
  });
  await step("Ask the builder… at the finding reaches the run", async () => {
    await openProblem("Missing validation");
    await (await quickFix("Ask the builder…")).click();
    await bench.type("Checkmate: Ask the builder", "Which numbers are meant?");
    await bench.notification("the run takes it up").waitFor();
    const { runs } = await somebodyElse({ type: "list_runs", limit: 1 });
    const commands = await told(runs[0].run, "command_taken");
    if (!commands.some(({ command }) => command.text.startsWith("Which numbers are meant?") && command.path === "src/math.sh")) {
      throw new Error(`The run was told something else: ${JSON.stringify(commands)}`);
    }
    await bench.shot("asked-the-builder");
  });
  await step("Decline in the notification goes to the builder", async () => {
    await bench.told("May it be applied");
    await bench.press("May it be applied", "Decline");
    const run = await latest();
    await bench.until("the answer in the run", async () => (await told(run, "question_answered")).some(({ yes }) => !yes));
    await bench.until("the next change of the builder", async () => (await told(run, "question_asked")).length === 3);
  });
  await step("a command that does not fit in a notification is allowed only after it was shown", async () => {
    await bench.press("May it be applied", "Apply");
    const asks = bench.notification("asks to run a command that can be read only on a page");
    await asks.waitFor({ timeout: 60_000 });
    await bench.shot("long-command");
    const buttons = await asks.getByRole("button").allInnerTexts();
    if (buttons.some((name) => /Allow|Always/.test(name))) throw new Error(`A command can be allowed unread: ${buttons}`);
    await bench.press("asks to run a command", "Show…");
    await editorSays("test/math_test.sh");
    await editorSays("It is one line of");
    await bench.notification("that stands in the editor").getByRole("button", { name: "Allow once" }).waitFor();
    await bench.shot("long-command-shown");
  });
  await step("Deny in the notification; Not now leaves the approved change where it is", async () => {
    await bench.press("asks to run the command", "Deny");
    const run = await latest();
    await bench.until("the answer in the run", async () => (await told(run, "question_answered")).filter(({ yes }) => !yes).length === 2);
    await bench.told("Bring it into your working tree?");
    await bench.press("Bring it into your working tree?", "Not now");
    await bench.until("a status item that is approved", async () => / approved(?! and in)/.test(await bench.status.innerText()));
    if (world.git("-C", world.second, "status", "--porcelain", "src").trim() !== "") throw new Error("The change is in the tree.");
    await bench.command("View: Close All Editors");
  });
  await step("Bring into my tree in the history lands it", async () => {
    await bench.command("Checkmate: Show History…");
    await bench.pick("approved");
    await bench.pick("Bring into my tree");
    await bench.until("the change in the tree", async () => world.git("-C", world.second, "status", "--porcelain", "src").trim() !== "");
    await bench.until("a status item that has landed", async () => (await bench.status.innerText()).includes("approved and in your tree"));
    await bench.shot("landed-from-history");
  });
  await step("Ask the builder… at a finding of a run that is over begins a run that goes on from it", async () => {
    // The scripted builder makes the same change again, so this one goes.
    await somebodyElse({ type: "undo", run: await latest() });
    await bench.until("the change taken back", async () => !(await bench.status.innerText()).includes("in your tree"));
    world.configureSecond({ budget: { max_calls: 1 } });
    await bench.command("Problems: Focus on Problems View");
    // The other one is of the first repository.
    await problems("Consider adding a test for zero").last().dblclick();
    await (await quickFix("Ask the builder…")).click();
    await bench.type("Checkmate: Ask the builder", "Add it.");
    await bench.until("a run that follows", async () => {
      const { runs } = await somebodyElse({ type: "list_runs", limit: 2 });
      return runs[0].follows === runs[1].run && runs[0].request.startsWith("Add it.");
    });
    await bench.shot("follow-up");
  });
  await step("a run at the end of its budget goes on with a larger one from the history", async () => {
    await bench.press("May it be applied", "Apply");
    await bench.until("the end of the budget", async () => (await bench.status.innerText()).includes("not approved"), 60);
    await bench.command("Checkmate: Show History…");
    await bench.pick("not approved");
    await bench.pick("Resume with a larger budget…");
    await bench.shot("budget");
    await bench.pick("Requests to agents");
    await bench.type("Checkmate: Requests to agents", "20");
    await bench.pick("Resume with this budget");
    await bench.told("May it be applied");
  });
  await step("a question outlives the daemon that asked it", async () => {
    world.stopDaemon();
    await bench.until("a status item that is disconnected", async () => (await bench.status.innerHTML()).includes("debug-disconnect"));
    await bench.command("Notifications: Clear All Notifications");
    await bench.command("Checkmate: Start Daemon");
    await bench.told("May it be applied");
    await bench.shot("asked-again");
  });
  await step("Stop Run ends it", async () => {
    await bench.command("Checkmate: Stop Run");
    await bench.until("the run not approved", async () => (await bench.status.innerText()).includes("not approved"));
    await bench.until("no notification of the change", async () => (await bench.notifications("May it be applied").count()) === 0);
    await bench.shot("stopped");
  });
}

/** The name of the latest run. */
async function latest() {
  return (await somebodyElse({ type: "list_runs", limit: 1 })).runs[0].run;
}

try {
  await world.prepare();
  console.log(`The package is installed in a clean VS Code. Screenshots: ${world.shots}`);
  bench = await Workbench.open(await world.open(), { folder: world.repository }, world.shots);
  bench.page.setDefaultTimeout(30_000);
  for (const play of [opening, firstRun, afterwards, secondRun, lostAndFound, walkthrough, settings, untrustedAndTwoFolders]) await play();
  if (bench.foreign.size > 0) throw new Error(`Other machines were asked: ${[...bench.foreign].join(", ")}`);
  if (bench.complaints.length > 0) throw new Error(`The panel breaks its policy: ${bench.complaints.join("\n")}`);
  failed = false;
  console.log("The extension works in a real VS Code.");
} catch (error) {
  console.error(`not ok: ${error.stack}`);
  await bench?.shot("failure").catch(() => {});
  process.exitCode = 1;
} finally {
  await bench?.close().catch(() => {});
  world.close(failed);
}
