import { readFile } from "node:fs/promises";
import { defineConfig, type Plugin } from "vite";

/** `file.json?lean` is the schema without what only people read: a third of its size in the bundle. */
function leanSchema(): Plugin {
  const human = new Set(["description", "title", "format", "$schema"]);
  const lean = (value: unknown, names: boolean): unknown => {
    if (Array.isArray(value)) return value.map((one) => lean(one, false));
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(
      Object.entries(value)
        .filter(([key]) => names || !human.has(key))
        .map(([key, one]) => [key, lean(one, !names && (key === "properties" || key === "$defs"))]),
    );
  };
  return {
    name: "lean-schema",
    enforce: "pre",
    async load(id) {
      const [path, query] = id.split("?");
      if (query !== "lean" || path === undefined) return null;
      this.addWatchFile(path);
      const schema = lean(JSON.parse(await readFile(path, "utf8")), false);
      return { code: `export default ${JSON.stringify(schema)};`, map: null, moduleType: "js" };
    },
  };
}

export default defineConfig({
  base: "./",
  plugins: [leanSchema()],
  build: {
    target: "es2023",
    modulePreload: false,
    assetsInlineLimit: 0,
    cssCodeSplit: false,
    // dist/SOURCE lies there too, and the names of the files are always the same.
    emptyOutDir: false,
    rollupOptions: {
      output: {
        entryFileNames: "panel.js",
        assetFileNames: "panel[extname]",
        codeSplitting: false,
      },
    },
  },
  test: { include: ["tests/unit/**/*.test.ts"] },
} as Parameters<typeof defineConfig>[0]);
