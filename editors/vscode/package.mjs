// Packs the extension: node package.mjs [FILE]; checkmate.vsix without it. Fails where the panel is missing or the package
// is larger than it may be.
import { execFileSync } from "node:child_process";
import { copyFile, rm, stat } from "node:fs/promises";
import { copyPanel, source } from "./panel.mjs";

const LARGEST = 1_000_000;
const file = process.argv[2] ?? "checkmate.vsix";
const here = new URL(".", import.meta.url);
process.chdir(here.pathname);

await rm("dist", { recursive: true, force: true });
execFileSync(process.execPath, ["esbuild.mjs"], { stdio: "inherit" });
if (!(await copyPanel())) {
  console.error(`There is no panel in ${source}. Run \`npm ci && npm run build\` in panel/, and pack again.`);
  process.exit(1);
}
await copyFile("../../LICENSE", "LICENSE");
execFileSync(process.execPath, ["node_modules/@vscode/vsce/vsce", "package", "--no-dependencies", "--out", file], { stdio: "inherit" });
const { size } = await stat(file);
console.log(`${file}: ${size} bytes`);
if (size > LARGEST) {
  console.error(`The package is larger than ${LARGEST} bytes. Look at what grew: \`npx vsce ls\`.`);
  process.exit(1);
}
