import assert from "node:assert/strict";
import { test } from "node:test";
import { amountText, LIMITS, readAmount } from "../src/budget.ts";

test("a larger budget is read in the units of people", () => {
  const [money, tokens] = [LIMITS.find(({ key }) => key === "cost_micro_usd") ?? assert.fail(), LIMITS.find(({ key }) => key === "tokens") ?? assert.fail()];
  assert.equal(readAmount(money, "$1.50", 1_000_000), 1_500_000);
  assert.equal(readAmount(tokens, " 90000 ", null), 90_000);
  assert.equal(amountText(money, 250_000), "0.25");
  for (const wrong of ["", "0", "-3", "many", "1e999", "NaN"]) assert.match(String(readAmount(money, wrong, null)), /an amount in US dollars/, wrong);
  for (const wrong of ["1.5", "0x10", "1e3", "99999999999"]) assert.match(String(readAmount(tokens, wrong, null)), /a whole number/, wrong);
  assert.match(String(readAmount(tokens, "100", 100)), /began with 100: write more/);
});
