// VS Code's workbench in a browser, as a person uses it: palette, notifications, editors, the panel's webview.
import { readdirSync } from "node:fs";
import { chromium } from "playwright-core";

const CHROMIUM = process.env.CHROMIUM ?? "/usr/bin/chromium";
const FLAGS = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--disable-dev-shm-usage",
];
const PATIENCE = { timeout: 30_000 };

export class Workbench {
  constructor(browser, page, shots) {
    this.browser = browser;
    this.page = page;
    this.shots = shots;
    this.number = readdirSync(shots).length;
    /** Hosts that were asked besides this machine. */
    this.foreign = new Set();
    /** What pages complain about: errors of scripts, and of the content policy. */
    this.complaints = [];
    page.on("request", (request) => {
      const { host, protocol } = new URL(request.url());
      // Resources of webviews have a host that a service worker answers for.
      const isOwn = host.startsWith("127.0.0.1") || host.endsWith(".vscode-resource.vscode-cdn.net");
      if (protocol.startsWith("http") && !isOwn) this.foreign.add(host);
    });
    page.on("console", (message) => {
      if (/Content Security Policy/.test(message.text()) && /panel\.(js|css)|inline/.test(message.text())) {
        this.complaints.push(message.text());
      }
    });
  }

  /** Opens a window; `what` is `{ folder }` or `{ workspace }`, a path. */
  static async open(address, what, shots) {
    const browser = await chromium.launch({ executablePath: CHROMIUM, args: FLAGS });
    const context = await browser.newContext({ viewport: { width: 1400, height: 900 } });
    const bench = new Workbench(browser, await context.newPage(), shots);
    await bench.load(`${address}/?${new URLSearchParams(what)}`);
    return bench;
  }

  async load(address) {
    await this.page.goto(address);
    await this.page.waitForSelector(".monaco-workbench", { timeout: 90_000 });
    await this.page.waitForSelector(".statusbar-item", { timeout: 90_000 });
  }

  close() {
    return this.browser.close();
  }

  async shot(name) {
    this.number++;
    // What slides in has arrived.
    await this.page.waitForTimeout(500);
    await this.page.screenshot({ path: `${this.shots}/${String(this.number).padStart(2, "0")}-${name}.png` });
  }

  /** The rows of the palette for what is typed. */
  async palette(text) {
    await this.page.keyboard.press("Escape");
    await this.page.keyboard.press("F1");
    await this.page.waitForSelector(".quick-input-widget input", { state: "visible", ...PATIENCE });
    await this.page.keyboard.insertText(text);
    await this.page.waitForTimeout(600);
    return this.page.locator(".quick-input-list .monaco-list-row");
  }

  /** Runs a command by its words in the palette. Commands of extensions come a while after the workbench. */
  async command(text) {
    const row = this.page.locator(".quick-input-list .monaco-list-row", { has: this.page.getByText(text, { exact: true }) }).first();
    for (let i = 0; i < 20; i++) {
      await this.palette(text);
      if (await row.isVisible()) break;
      await this.page.waitForTimeout(1000);
    }
    await row.click(PATIENCE);
  }

  /** Picks a row of the list that is open. */
  async pick(text) {
    const row = this.page.locator(".quick-input-list .monaco-list-row", { hasText: text }).first();
    await row.click(PATIENCE);
  }

  /** Answers the input box with this title. */
  async type(title, text) {
    const box = this.page.locator(".quick-input-widget:visible", { hasText: title });
    await box.locator("input").first().fill(text);
    await this.page.keyboard.press("Enter");
    await box.waitFor({ state: "hidden", ...PATIENCE });
  }

  /** The notifications that say this: on the screen, or in the notification centre while that is open. */
  notifications(text) {
    const toasts = this.page.locator(".notification-toast:visible", { hasText: text });
    return toasts.or(this.page.locator(".notifications-center.visible .monaco-list-row", { hasText: text }));
  }

  notification(text) {
    return this.notifications(text).last();
  }

  /** Waits until a notification says this. Escape takes notifications off the screen, and so does time. */
  async told(text, seconds = 60) {
    for (let i = 0; i < seconds; i++) {
      const isThere = await this.notification(text).waitFor({ timeout: 1000 }).then(() => true, () => false);
      if (isThere) return;
      if (i % 10 === 4) await this.command("Notifications: Show Notifications");
    }
    throw new Error(`No notification says: ${text}`);
  }

  /** Presses a button of a notification. */
  async press(notification, button) {
    // VS Code takes it off the screen after some seconds.
    if ((await this.notifications(notification).count()) === 0) await this.command("Notifications: Show Notifications");
    await this.notification(notification).getByRole("button", { name: button, exact: true }).click(PATIENCE);
  }

  get status() {
    return this.page.locator(".statusbar-item", { hasText: "Checkmate" }).first();
  }

  /** The panel in the webview that can be seen. */
  async panel() {
    for (let i = 0; i < 100; i++) {
      for (const frame of this.page.frames()) {
        const root = frame.locator("#panel");
        if (await root.isVisible().catch(() => false)) {
          const element = await frame.parentFrame()?.frameElement();
          if ((await element?.isVisible()) ?? true) return root;
        }
      }
      await this.page.waitForTimeout(300);
    }
    throw new Error("There is no panel on the screen.");
  }

  /** Waits until something holds. */
  async until(what, holds, seconds = 30) {
    for (let i = 0; i < seconds * 5; i++) {
      if (await holds()) return;
      await this.page.waitForTimeout(200);
    }
    throw new Error(`This did not come to hold: ${what}`);
  }
}
