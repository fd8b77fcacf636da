// What the tests in Chromium share: the browser, the page as the daemon serves it, and a stand-in for the daemon.
import { createServer } from "node:http";
import { readFile } from "node:fs/promises";
import { readFileSync } from "node:fs";
import { chromium } from "playwright-core";

const FLAGS =
  "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update --disable-sync";
/** What the daemon sends with the page. */
export const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self' ws:; img-src 'self' data:";

export async function launch() {
  return chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: FLAGS.split(" "),
  });
}

/** Serves panel/dist with the daemon's policy. */
export async function servePanel() {
  const types = { html: "text/html", js: "text/javascript", css: "text/css" };
  const server = createServer(async (request, response) => {
    const name = request.url === "/" ? "index.html" : request.url.slice(1).split("?")[0];
    try {
      const body = await readFile(new URL(`../dist/${name}`, import.meta.url));
      response.writeHead(200, { "content-type": types[name.split(".").pop()], "content-security-policy": POLICY });
      response.end(body);
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
  return { url: `http://127.0.0.1:${server.address().port}/`, close: () => server.close() };
}

/** The recorded frames of a run of examples/. */
export function recorded(name) {
  const text = readFileSync(new URL(`frames/${name}.jsonl`, import.meta.url), "utf8");
  return text.trim().split("\n").map((line) => JSON.parse(line));
}

const ZERO = { input_tokens: 0, cached_tokens: 0, output_tokens: 0, reasoning_tokens: 0, cost_micro_usd: null };

/** The state of a run that its frames tell. */
export function stateOf(frames, more = {}) {
  const first = frames[0];
  const outcome = frames.findLast((frame) => frame.event.type === "outcome")?.event.outcome;
  return {
    run: first.run,
    workspace: first.event.workspace,
    request: first.event.request,
    standing: outcome === undefined ? "running" : outcome.outcome,
    stopped_by: outcome?.stopped_by ?? null,
    message: "",
    turn: frames.findLast((frame) => frame.event.type === "turn_started")?.event.turn ?? 0,
    of: first.event.of,
    began: first.at,
    changed: frames.at(-1).at,
    usage: frames.findLast((frame) => frame.event.type === "agent_answered")?.event.total ?? ZERO,
    requests: 0,
    files: [],
    landed: outcome?.outcome === "approved",
    follows: null,
    ...more,
  };
}

/**
 * Stands for the daemon in a page: answers what a client asks from `runs` (each with `frames` and `state`). Returns what
 * the client sent and a way to send it frames.
 */
export async function standIn(page, { runs, workspaces, configuration }) {
  const daemon = { sent: [], sockets: new Set(), send: () => {}, answers: {}, refuse: false };
  const at = new Date().toISOString();
  await page.routeWebSocket(/.*/, (socket) => {
    if (daemon.refuse) return socket.close({ code: 1006 });
    daemon.sockets.add(socket);
    const send = (frame) => socket.send(JSON.stringify({ at, ...frame }));
    daemon.send = send;
    socket.onClose(() => daemon.sockets.delete(socket));
    socket.onMessage((text) => {
      const message = JSON.parse(text);
      daemon.sent.push(message);
      const reply = (event) => send({ event, re: message.id });
      const own = daemon.answers[message.type]?.(message, { reply, send });
      if (own === true) return;
      switch (message.type) {
        case "hello":
          return reply({ type: "hello", version: 1, program: "0.1.0", workspaces, runs_at_once: 2 });
        case "list_runs":
          return reply({ type: "runs", runs: runs.map((run) => run.state), more: false });
        case "subscribe": {
          const run = runs.find((one) => one.state.run === message.run);
          if (run === undefined) return reply({ type: "error", error: `There is no run ${message.run}.` });
          reply({ type: "subscribed", run: message.run, latest_seq: run.frames.at(-1)?.seq ?? 0 });
          for (const frame of run.frames) if (frame.seq >= message.from_seq) send(frame);
          return;
        }
        case "search": {
          const hits = runs.filter((run) => run.state.request.includes(message.query));
          return reply({
            type: "found",
            whole: daemon.whole ?? true,
            hits: hits.map(({ state }) => ({ state, excerpt: state.request.replace(message.query, "\u0001$&\u0002") })),
          });
        }
        case "get_configuration":
        case "check_configuration":
        case "save_configuration":
          return reply({ ...configuration, saved: message.type === "save_configuration" });
        default:
          return reply({ type: "done", message: "Done." });
      }
    });
  });
  return daemon;
}
