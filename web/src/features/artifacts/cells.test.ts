import { describe, expect, it } from "vitest";

import { cellText, shownText } from "./cells";

describe("a value of a result", () => {
  it.each([
    [1018.8000000000026, "1018.8", "1018.8000000000026"],
    [0.1 + 0.2, "0.3", "0.30000000000000004"],
    [40.6, "40.6", "40.6"],
    [123456789012, "123456789012", "123456789012"],
    [1e21, "1e+21", "1e+21"],
    [-0.000012345, "-0.000012345", "-0.000012345"],
  ])("%s is shown without noise and kept whole", (value, shown, whole) => {
    expect(shownText(value)).toBe(shown);
    expect(cellText(value)).toBe(whole);
  });

  it.each(["9007199254740993", "0.10", "x", true, [1.5], null])("%j stays as it is", (value) => {
    expect(shownText(value)).toBe(cellText(value));
  });
});
