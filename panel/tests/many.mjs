// Feeds 10,000 frames through the real bundle in Chromium and says what that cost: `node tests/many.mjs [COUNT]`.
// Fails when the page stood still for longer than a person notices.
import { launch, recorded, servePanel, stateOf } from "./harness.mjs";

const COUNT = Number(process.argv[2] ?? 10_000);
/** Longer than this and a key press feels late. */
const LONGEST_TASK_MS = 200;

/** A run as long as wanted: the turns of a recorded one again and again. */
function long(count) {
  const frames = recorded("factorial");
  const turns = frames.slice(4, 92);
  const all = frames.slice(0, 4);
  for (let turn = 1; all.length < count; turn++) {
    const at = (turn - 1) % 2 === 0 ? turns.slice(0, 46) : turns.slice(46);
    for (const frame of at) {
      const event = { ...frame.event };
      if (event.turn !== undefined) event.turn = turn;
      if (event.type === "turn_started") event.of = 999;
      all.push({ ...frame, event });
    }
  }
  // The last quarter is one turn that does not end: nothing of it is folded.
  return all.slice(0, count).map((frame, index) => {
    const event = index > count * 0.75 && frame.event.type === "turn_started" ? { type: "status", message: `Still turn, step ${index}.` } : frame.event;
    return { ...frame, event, seq: index + 1 };
  });
}

const server = await servePanel();
const browser = await launch();
const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
const problems = [];
page.on("pageerror", (error) => problems.push(String(error)));
const frames = long(COUNT);
const last = `Step ${COUNT} is the last.`;
frames.push({ ...frames.at(-1), event: { type: "status", message: last }, seq: COUNT + 1 });
const state = stateOf(frames, { standing: "running" });
await page.addInitScript((state) => {
  sessionStorage.setItem("checkmate.run", state.run);
  globalThis.tasks = [];
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) globalThis.tasks.push(entry.duration);
  }).observe({ type: "longtask" });
  // A socket inside of the page: what it delivers costs nothing but what the panel does with it.
  globalThis.WebSocket = class extends EventTarget {
    static OPEN = 1;
    readyState = 1;
    constructor() {
      super();
      globalThis.socket = this;
      setTimeout(() => this.dispatchEvent(new Event("open")), 50);
    }
    tell(text) {
      this.dispatchEvent(new MessageEvent("message", { data: text }));
    }
    send(text) {
      const { id, type } = JSON.parse(text);
      const events = {
        hello: { type: "hello", version: 1, program: "0", workspaces: [{ root: "/w", name: "w", branch: null, problem: null }], runs_at_once: 1 },
        subscribe: { type: "subscribed", run: state.run, latest_seq: 0 },
        list_runs: { type: "runs", runs: [state], more: false },
      };
      this.tell(JSON.stringify({ event: events[type] ?? { type: "done", message: "" }, re: id, at: "" }));
    }
  };
}, state);
await page.goto(server.url);
await page.getByText("connected", { exact: true }).waitFor();
const texts = frames.map((frame) => JSON.stringify(frame));
await page.evaluate((all) => {
  globalThis.texts = all;
}, texts);

/** Does something in the page and says how long its long tasks were. */
async function measured(work, argument) {
  await page.waitForTimeout(200);
  await page.evaluate(() => (globalThis.tasks.length = 0));
  const time = await page.evaluate(work, argument);
  await page.waitForTimeout(300);
  return { time, tasks: await page.evaluate(() => globalThis.tasks) };
}
const longest = ({ tasks }) => Math.round(Math.max(0, ...tasks));

const proof = await measured(() => {
  setTimeout(() => {
    const until = performance.now() + 120;
    while (performance.now() < until);
  });
});
if (longest(proof) < 100) problems.push("The browser does not tell long tasks, so nothing was measured.");

const burst = await measured(
  (done) =>
    new Promise((finished, failed) => {
      const began = performance.now();
      setTimeout(() => failed(new Error(`The last frame is not shown: ${document.querySelector(".timeline").scrollTop} ${document.querySelector(".timeline").scrollHeight} ${document.querySelector(".timeline").clientHeight} ${[...document.querySelectorAll(".timeline-inner > section:last-of-type > div")].map((one) => one.childElementCount + "/" + one.offsetHeight).join(" ")}`)), 8_000);
      let at = 0;
      // As a fast daemon delivers a replay: a few hundred messages between two drawings.
      const deliver = () => {
        for (const end = Math.min(at + 250, globalThis.texts.length); at < end; at++) globalThis.socket.tell(globalThis.texts[at]);
        if (at < globalThis.texts.length) setTimeout(deliver);
      };
      const look = () => {
        if (document.querySelector(".timeline").textContent.includes(done)) finished(performance.now() - began);
        else setTimeout(look, 20);
      };
      deliver();
      look();
    }),
  last,
);
const elements = await page.evaluate(() => document.querySelectorAll("*").length);

// While it stands there, pieces of a reply and a look at everything must be quick as well.
const stream = await measured(
  ([run, seq]) =>
    new Promise((finished) => {
      const began = performance.now();
      let sent = 0;
      const next = () => {
        const event = { type: "stream_chunk", role: "builder", chunk: `word ${sent} `, start: sent === 0 };
        globalThis.socket.tell(JSON.stringify({ event, run, seq, at: "2026-11-22T10:00:00Z" }));
        if (++sent < 1000) setTimeout(next);
        else finished(performance.now() - began);
      };
      next();
    }),
  [state.run, COUNT + 1],
);
// A long reply: what it costs to tell it must not grow with what is there of it.
const longReply = await measured(
  ([run, seq]) =>
    new Promise((finished) => {
      const began = performance.now();
      let sent = 0;
      const next = () => {
        for (let piece = 0; piece < 4; piece++, sent++) {
          const chunk = `${sent === 0 ? '{"plan":[' : ","}"Step ${sent} of a plan that goes on, with \\"words\\" in it and \`code\` as well, and a good deal more to read"`;
          globalThis.socket.tell(JSON.stringify({ event: { type: "stream_chunk", role: "builder", chunk, start: sent === 0 }, run, seq, at: "2026-11-22T10:00:00Z" }));
        }
        if (sent < 3300) setTimeout(next, 4);
        else finished(performance.now() - began);
      };
      next();
    }),
  [state.run, COUNT + 1],
);
const told = await page.evaluate(() => document.querySelectorAll(".message.live p").length);
if (told < 50 || told > 60) problems.push(`${told} lines of the long reply are in the page; the last 50 are enough.`);
const scroll = await measured(async () => {
  const began = performance.now();
  const timeline = document.querySelector(".timeline");
  for (let step = 0; step <= 40; step++) {
    timeline.scrollTop = (timeline.scrollHeight * (40 - step)) / 40;
    await new Promise((next) => setTimeout(next, 50));
  }
  return performance.now() - began;
});
await browser.close();
server.close();

const line = (name, figures) =>
  console.log(`${name.padEnd(34)}${String(Math.round(figures.time)).padStart(6)} ms, longest task ${longest(figures)} ms, tasks over 50 ms: ${figures.tasks.length}`);
console.log(`${frames.length} frames, ${(texts.join("").length / 1e6).toFixed(1)} MB; ${elements} elements in the page`);
line("until the last of them is shown", burst);
line("then 1,000 pieces of a reply", stream);
line("then a reply of 330 kB", longReply);
line("then scrolled from end to start", scroll);
for (const figures of [burst, stream, longReply, scroll]) {
  if (longest(figures) > LONGEST_TASK_MS) problems.push(`A task took ${longest(figures)} ms; ${LONGEST_TASK_MS} ms is the most.`);
}
for (const problem of problems) console.error(problem);
if (problems.length > 0) process.exit(1);
