// Tells whether panel/dist was built from what lies here. With --write, records that it was. README.md says how the
// number is made, so that a test without Node can make it as well.
import { createHash } from "node:crypto";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { pathToFileURL } from "node:url";

const here = new URL("../", import.meta.url);
const sha256 = (bytes) => createHash("sha256").update(bytes).digest("hex");

const files = (await readdir(new URL("src/", here), { recursive: true, withFileTypes: true }))
  .filter((entry) => entry.isFile())
  .map((entry) => `panel/${new URL(entry.name, pathToFileURL(`${entry.parentPath.replace(/\/+$/, "")}/`)).pathname.slice(here.pathname.length)}`);
const inputs = [
  ...files,
  ...["index.html", "package.json", "package-lock.json", "tsconfig.json", "vite.config.ts"].map((name) => `panel/${name}`),
  ...["frames", "messages"].map((name) => `docs/schema/${name}.schema.json`),
].sort((one, other) => Buffer.compare(Buffer.from(one), Buffer.from(other)));

let lines = "";
for (const path of inputs) lines += `${sha256(await readFile(new URL(`../${path}`, here)))}  ${path}\n`;
const number = `${sha256(lines)}\n`;

const record = new URL("dist/SOURCE", here);
if (process.argv.includes("--write")) {
  await writeFile(record, number);
} else if ((await readFile(record, "utf8").catch(() => "")) !== number) {
  console.error("panel/dist was not built from these sources. Run `npm run build` in panel/ and commit dist.");
  process.exit(1);
}
