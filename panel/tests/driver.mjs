// How tests/panel.mjs looks at the panel and uses it.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { launch } from "./harness.mjs";

const axeSource = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
export const browser = await launch();
/** What the page complained about by itself. */
export const problems = [];
/** The page that is driven; another one after `open` or `show`. */
export let page;
/** What is being covered. */
export let step = "";
export let count = 0;

export async function covers(name, work) {
  step = name;
  await work();
  count++;
  console.log(`ok ${count} - ${name}`);
}

export const button = (name, options) => page.getByRole("button", { name, exact: true, ...options });
export const message = (kind) => page.locator(`.message[data-kind="${kind}"]`);
export const composer = () => page.getByRole("textbox", { name: /What should be changed|What to tell the builder/ });
export const seen = (locator, timeout = 15_000) => locator.first().waitFor({ timeout });
export const gone = (locator) => locator.first().waitFor({ state: "hidden", timeout: 15_000 });
export const verdict = (title) => seen(page.locator(".verdict-title", { hasText: title }), 30_000);
export async function question(text) {
  await seen(page.locator(".question", { hasText: text }), 30_000);
  // Keys answer nothing at first.
  await page.waitForTimeout(550);
}

export async function eventually(holds) {
  for (let tries = 0; tries < 100 && !(await holds()); tries++) await page.waitForTimeout(50);
  assert(await holds());
}

/** The colour that a label of that kind really has, as a hue in degrees and a saturation. */
async function hue(kind) {
  let rgb = "";
  // A message that is drawn anew just then has no colour.
  await eventually(async () => (rgb = await message(kind).first().locator(".label").evaluate((label) => getComputedStyle(label).color)) !== "");
  const [red, green, blue] = rgb.match(/[\d.]+/g).map((part) => Number(part) / 255);
  const high = Math.max(red, green, blue);
  const spread = high - Math.min(red, green, blue);
  const raw = spread === 0 ? 0 : high === red ? ((green - blue) / spread) % 6 : high === green ? (blue - red) / spread + 2 : (red - green) / spread + 4;
  return { hue: (raw * 60 + 360) % 360, strength: spread / high };
}

const HUES = { blue: [195, 235], green: [130, 170], purple: [250, 280], orange: [20, 36], yellow: [40, 60], red: [350, 365] };
export async function isColoured(kind, colour) {
  const { hue: degrees, strength } = await hue(kind);
  if (colour === "grey") return assert(strength < 0.25, `${kind} is not grey: ${strength}`);
  const [from, to] = HUES[colour];
  const turned = degrees < 10 ? degrees + 360 : degrees;
  assert((turned >= from && turned <= to) || (degrees >= from && degrees <= to), `${kind} is not ${colour}: ${degrees}`);
}

export async function isAccessible(where) {
  await page.evaluate(axeSource);
  const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
  const bad = violations.filter((one) => one.impact === "serious" || one.impact === "critical");
  assert.deepEqual(bad.map((one) => `${where}: ${one.id}: ${one.nodes.map((node) => node.html.slice(0, 120)).join(" | ")}`), []);
}

/** Goes on with a page that is open. */
export function show(other) {
  page = other;
}

/** Opens a page of its own, as another person or another tab would. */
export async function open(address) {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, colorScheme: "dark", bypassCSP: false });
  page = await context.newPage();
  page.setDefaultTimeout(15_000);
  page.on("pageerror", (error) => problems.push(`${step}: ${error}`));
  page.on("console", (entry) => {
    const text = entry.text();
    if (entry.type() === "error" && !text.includes("WebSocket connection") && !entry.location().url.endsWith("/healthz")) problems.push(`${step}: ${text}`);
  });
  if (process.argv.includes("--dist")) {
    // Not index.html: a page that came from a test may not connect to this machine.
    await page.route(/localhost:\d+\/panel\.(js|css)$/, async (route) => {
      const name = new URL(route.request().url()).pathname.slice(1);
      const response = await route.fetch();
      const body = readFileSync(new URL(`../dist/${name}`, import.meta.url));
      const type = { js: "text/javascript", css: "text/css" }[name.split(".").pop()];
      await route.fulfill({ body, headers: { ...response.headers(), "content-type": type, "content-length": String(body.length) } });
    });
  }
  await page.goto(address);
}


/** Waits until the daemon is there again. */
export async function connected() {
  await button("Try now").click({ timeout: 2000 }).catch(() => {});
  await seen(page.getByText("connected", { exact: true }), 20_000);
}
