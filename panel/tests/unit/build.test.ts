import { expect, test } from "vitest";
import config from "../../vite.config.ts";

test("a build leaves dist/SOURCE where it is", () => {
  expect((config as { build: { emptyOutDir?: boolean } }).build.emptyOutDir).toBe(false);
});
