// Bundles the extension: dist/extension.js for desktop and remote windows, dist/web.js for browsers. --watch builds again
// at every change, --tests bundles the unit tests into out/test.
import { context } from "esbuild";
import { watch as watchFolder } from "node:fs";
import { readdir } from "node:fs/promises";
import { copyPanel, source } from "./panel.mjs";

const common = { bundle: true, logLevel: "info", sourcemap: "linked", legalComments: "none" };
const extension = {
  ...common,
  entryPoints: ["src/extension.ts"],
  outfile: "dist/extension.js",
  format: "cjs",
  platform: "node",
  target: "node20",
  // The two faster native parts of ws are optional, and not there.
  external: ["vscode", "bufferutil", "utf-8-validate"],
  minifySyntax: true,
};
const web = {
  ...common,
  entryPoints: ["src/web.ts"],
  outfile: "dist/web.js",
  format: "cjs",
  platform: "browser",
  target: "es2022",
  external: ["vscode"],
};
const tests = {
  ...common,
  sourcemap: "inline",
  entryPoints: (await readdir("test")).filter((name) => name.endsWith(".test.ts")).map((name) => `test/${name}`),
  outdir: "out/test",
  outExtension: { ".js": ".cjs" },
  format: "cjs",
  platform: "node",
  target: "node20",
  packages: "external",
  // What the tests see of VS Code.
  alias: { vscode: "./test/vscode.ts" },
};

const watch = process.argv.includes("--watch");
const forTests = process.argv.includes("--tests");
const missing = `There is no panel in ${source}: run \`npm ci && npm run build\` in panel/. Without it the webview is empty.`;
if (!forTests) {
  if (!(await copyPanel())) console.warn(missing);
  else if (watch) watchFolder(source, () => void copyPanel().catch(() => {}));
}
for (const options of forTests ? [tests] : [extension, web]) {
  const build = await context(options);
  if (watch) {
    await build.watch();
  } else {
    await build.rebuild();
    await build.dispose();
  }
}
