// Written by Checkmate for one comparison; it is not part of the project.
import { createHash } from "node:crypto";
import { fileURLToPath, pathToFileURL } from "node:url";
import path from "node:path";
import vm from "node:vm";

const TOKEN = "@TOKEN@";
const ROOT = path.dirname(fileURLToPath(import.meta.url));
const PER_CALL = 1000;
const IN_ALL = 10000;
const LONGEST = 400;

const started = Date.now();
const write = process.stdout.write.bind(process.stdout);
process.stdout.write = process.stderr.write.bind(process.stderr);
const exit = process.exit.bind(process);
process.exit = () => {
  throw new Error("process.exit");
};
process.on("uncaughtException", () => {});
process.on("unhandledRejection", () => {});

function show(value, above = []) {
  if (value === null || value === undefined) return String(value);
  if (typeof value === "string") return JSON.stringify(value);
  if (typeof value === "number") return Object.is(value, -0) ? "-0" : String(value);
  if (typeof value === "bigint") return `${value}n`;
  if (typeof value === "function") return /^class\b/.test(Function.prototype.toString.call(value)) ? "[class]" : "[function]";
  if (typeof value !== "object") return String(value);
  if (above.includes(value) || above.length > 8) return "...";
  const inner = [...above, value];
  const each = (items) => items.map((item) => show(item, inner)).join(", ");
  const pairs = (items) => items.map(([key, item]) => `${show(key, inner)}: ${show(item, inner)}`).join(", ");
  if (Array.isArray(value)) {
    return `[${Array.from(value, (item, at) => (at in value ? show(item, inner) : "hole")).join(", ")}]`;
  }
  if (value instanceof Map) return `Map{${pairs([...value])}}`;
  if (value instanceof Set) return `Set{${each([...value])}}`;
  if (value instanceof Date) return `Date(${Number.isNaN(value.getTime()) ? "invalid" : value.toISOString()})`;
  if (value instanceof RegExp) return String(value);
  if (value instanceof Error) return `${value.name}(${value.message})`;
  if (ArrayBuffer.isView(value)) return `${value.constructor.name}[${Array.from(value).slice(0, 200).join(", ")}]`;
  if (value instanceof Number || value instanceof String || value instanceof Boolean) {
    return `${value.constructor.name}(${show(value.valueOf(), inner)})`;
  }
  if (typeof value.next === "function" && typeof value[Symbol.iterator] === "function") return `iterator [${each(first(value))}]`;
  const held = Object.getPrototypeOf(value);
  const name = held === null ? "[null] " : held === Object.prototype ? "" : `${held.constructor?.name ?? "?"} `;
  // What a class calls private is no behaviour.
  const own = Object.keys(value).filter((key) => name === "" || !key.startsWith("_"));
  return `${name}{${own.map((key) => `${JSON.stringify(key)}: ${show(value[key], inner)}`).join(", ")}}`;
}

function first(iterator) {
  const items = [];
  for (const item of iterator) {
    items.push(item);
    if (items.length === 50) break;
  }
  return items;
}

function short(text) {
  text = text.replace(/[\u0000-\u001f\u007f\u0085\u2028\u2029]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);
  if (text.length <= LONGEST) return text;
  const digest = createHash("sha256").update(text).digest("hex").slice(0, 12);
  return `${text.slice(0, LONGEST - 60)} ... ${text.length} characters, ${digest}`;
}

// Runs work for a limited time, even where it never gives control back.
function limited(work) {
  globalThis.checkmateWork = work;
  return vm.runInThisContext("checkmateWork()", { timeout: PER_CALL });
}

function patient(value) {
  if (value === null || typeof value !== "object" || typeof value.then !== "function") return value;
  const late = new Promise((_, reject) => {
    setTimeout(() => reject(Object.assign(new Error("late"), { code: "ERR_SCRIPT_EXECUTION_TIMEOUT" })), PER_CALL);
  });
  return Promise.race([value, late]);
}

// Returns the result of one call as text; undefined if there is nothing to call.
async function once(module, [, , name, member, construct, make, steps]) {
  let value = name === "default" ? module.default : (module[name] ?? module.default?.[name]);
  if (member !== null) value = value?.[member];
  if (typeof value !== "function") return undefined;
  const owner = member === null ? undefined : (module[name] ?? module.default?.[name] ?? module.default);
  const given = [make(), ...steps.map(([, args]) => args())];
  const before = show(given.flat(1));
  let text;
  try {
    const subject = await patient(limited(() => (construct ? new value(...given[0]) : value.apply(owner, given[0]))));
    let result = subject;
    for (const [at, [step]] of steps.entries()) {
      if (typeof subject?.[step] !== "function") return undefined;
      result = await patient(limited(() => subject[step](...given[at + 1])));
    }
    text = limited(() => show(result));
  } catch (error) {
    if (error?.code === "ERR_SCRIPT_EXECUTION_TIMEOUT") return undefined;
    if (error instanceof RangeError && /call stack/.test(error.message)) text = "raises RangeError";
    else if (error instanceof Error) text = `raises ${error.name}: ${String(error.message).slice(0, 200)}`;
    else text = `raises ${show(error)}`;
  }
  const after = show(given.flat(1));
  return short(after === before ? text : `${text} | args became ${after}`);
}

async function main() {
  const modules = {};
  for (const file of MODULES) {
    try {
      modules[file] = await patient(import(pathToFileURL(path.join(ROOT, file)).href));
    } catch {
      modules[file] = undefined;
    }
  }
  const before = [];
  const slow = new Set();
  for (const round of [1, 2]) {
    for (const [at, call] of CALLS.entries()) {
      const begun = Date.now();
      if (begun - started > IN_ALL) return;
      const target = `${call[1]} ${call[2]}`;
      // What hangs once gets no second chance: the time is for the others.
      if (round === 1 ? slow.has(target) : before[at] === undefined) continue;
      const result = modules[call[1]] && (await once(modules[call[1]], call).catch(() => undefined));
      if (Date.now() - begun >= PER_CALL) slow.add(target);
      if (round === 1) before[at] = result;
      else if (result !== undefined) {
        write(`${TOKEN} ${call[0]} ${result === before[at] ? result : "unstable"}\n`);
      }
    }
    // What depends on the clock shows a difference after a moment.
    await new Promise((done) => setTimeout(done, 5));
  }
}

const MODULES = [
@MODULES@];
const CALLS = [
@CALLS@];

await main();
write("", () => exit(0));
