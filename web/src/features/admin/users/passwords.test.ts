import { describe, expect, it } from "vitest";

import { chosenPassword, generatePassword } from "./passwords";

describe("a generated password", () => {
  it("is long, of unmistakable signs, and another one each time", () => {
    const many = Array.from({ length: 200 }, generatePassword);
    for (const each of many) expect(each).toMatch(/^[a-km-np-zA-HJ-NP-Z2-9]{20}$/);
    expect(new Set(many).size).toBe(200);
  });

  it("is used only when none is typed", () => {
    expect(chosenPassword({ isGenerated: false, typed: "typed by hand" })).toBe("typed by hand");
    expect(chosenPassword({ isGenerated: true, typed: "typed by hand" })).toHaveLength(20);
  });
});
