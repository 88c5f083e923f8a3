import { expect, test } from "vitest";

import { extended, mixed } from "./look";

test("a mix lies between its colours", () => {
  expect(mixed("#000000", "#ffffff", 0.5)).toBe("#808080");
  expect(mixed("#102030", "#ffffff", 0)).toBe("#102030");
  expect(mixed("#102030", "#00ff00", 1)).toBe("#00ff00");
});

test("what is no colour of six digits is left alone", () => {
  expect(mixed("red", "#ffffff", 0.5)).toBe("red");
});

test("no two series look the same", () => {
  const all = extended(["#1f5fd0", "#c2570c", "#0f766e"], "#fafaf9", "#1c1d1f");
  expect(all).toHaveLength(9);
  expect(new Set(all).size).toBe(9);
});
