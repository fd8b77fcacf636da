import assert from "node:assert/strict";
import { buildSync } from "esbuild";
import { test } from "node:test";
import manifest from "../package.json" with { type: "json" };

test("in a browser the extension begins without error, and every command says what it needs", async () => {
  const bundle = buildSync({ entryPoints: ["src/web.ts"], bundle: true, platform: "browser", format: "cjs", external: ["vscode"], write: false });
  const code = bundle.outputFiles[0]?.text ?? "";
  assert.ok(!/require\("node:|require\("ws"/.test(code), "nothing of Node reaches the browser");
  const commands = new Map<string, () => Promise<void>>();
  const said: string[] = [];
  const vscode = {
    commands: { registerCommand: (name: string, run: () => Promise<void>) => commands.set(name, run), executeCommand: async () => {} },
    window: { showInformationMessage: async (text: string) => void said.push(text), registerWebviewViewProvider: () => {} },
  };
  const module = { exports: {} as { activate(context: object): void } };
  new Function("module", "exports", "require", code)(module, module.exports, (name: string) => {
    assert.equal(name, "vscode");
    return vscode;
  });
  module.exports.activate({ subscriptions: [] });
  assert.deepEqual([...commands.keys()].sort(), manifest.contributes.commands.map(({ command }) => command).sort());
  await commands.get("checkmate.openPanel")?.();
  assert.match(said.join(), /desktop or in a remote window/);
});

test("the port of the daemon is nothing that a window opens", () => {
  const [pattern] = Object.keys(manifest.contributes.configurationDefaults["remote.portsAttributes"]);
  // What VS Code compares is the command line as Linux has it, or as `ps` writes it.
  for (const separator of ["\0", " "]) {
    const isDaemon = (...words: string[]) => new RegExp(pattern ?? "").test(words.join(separator));
    assert.ok(isDaemon("/home/me/.cargo/bin/checkmate", "serve", "--port", "9876"));
    assert.ok(!isDaemon("node", "/home/me/checkmate/node_modules/.bin/vite", "serve"));
  }
});

test("the palette says exactly what people know", () => {
  const titles = manifest.contributes.commands.map(({ category, title }) => `${category}: ${title}`);
  assert.deepEqual(titles.slice(0, 2), ["DualAgent: Open Panel", "Checkmate: Open Panel"]);
  assert.deepEqual(manifest.extensionKind, ["workspace"]);
});
