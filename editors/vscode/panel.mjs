// Copies the panel's bundle into dist/panel. It is built in panel/ of the repository; CHECKMATE_PANEL names another folder.
import { access, cp, mkdir, readFile, rm } from "node:fs/promises";
import { fileURLToPath } from "node:url";

const FILES = ["index.html", "panel.js", "panel.css"];
export const source = process.env.CHECKMATE_PANEL ?? fileURLToPath(new URL("../../panel/dist", import.meta.url));
const target = fileURLToPath(new URL("dist/panel", import.meta.url));

/** Copies what is there; false if there is no bundle. */
export async function copyPanel() {
  const html = await readFile(`${source}/index.html`, "utf8").catch(() => null);
  if (html === null) return false;
  for (const [, file] of html.matchAll(/(?:src|href)="\.\/([^"]+)"/g)) {
    if (!FILES.includes(file)) throw new Error(`${source}/index.html wants ${file}, which panel.mjs does not copy.`);
  }
  await Promise.all(FILES.map((file) => access(`${source}/${file}`)));
  await rm(target, { recursive: true, force: true });
  await mkdir(target, { recursive: true });
  await Promise.all(FILES.map((file) => cp(`${source}/${file}`, `${target}/${file}`)));
  return true;
}
