// Writes src/wire/generated.ts: the protocol's types, from the JSON Schemas that the Rust types generate.
import { createHash } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { compile } from "json-schema-to-typescript";

const here = new URL("../", import.meta.url);
const schemas = ["frames", "messages"].map((name) => new URL(`../docs/schema/${name}.schema.json`, here));
const texts = await Promise.all(schemas.map((url) => readFile(url, "utf8")));
const sha256 = createHash("sha256").update(texts.join("")).digest("hex");
const [frames, messages] = texts.map((text) => JSON.parse(text));

const { $defs: frameDefs, $schema: _frames, ...frame } = frames;
const { $defs: messageDefs, $schema: _messages, ...envelope } = messages;
const whole = {
  $defs: { ...frameDefs, ...messageDefs, Frame: frame, Envelope: envelope },
  title: "Protocol",
  type: "object",
  properties: { frame: { $ref: "#/$defs/Frame" }, envelope: { $ref: "#/$defs/Envelope" } },
};
/** A description beside a `$ref` would make a second type of the same shape. */
const plain = (value) => {
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== "object" || value === null) return value;
  if (typeof value.$ref === "string") return { $ref: value.$ref };
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, plain(one)]));
};
const types = await compile(plain(whole), "Protocol", {
  additionalProperties: false,
  bannerComment: `// Made by \`npm run types\` from docs/schema/{frames,messages}.schema.json; never edited.\n// SHA-256 of the two, one after the other: ${sha256}`,
  format: false,
});
await writeFile(new URL("src/wire/generated.ts", here), types);
