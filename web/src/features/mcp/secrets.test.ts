import { describe, expect, it } from "vitest";

import { hasChanged, isKept, mapOf, MASK, newRow, rowProblems, rowsOf } from "./secrets";

const STORED = { Authorization: MASK, "X-Team": MASK };

describe("secret values", () => {
  it("that are not touched are sent as masks, which keep them", () => {
    const rows = rowsOf(STORED);
    expect(rows.every(isKept)).toBe(true);
    expect(mapOf(rows)).toEqual(STORED);
    expect(hasChanged(rows, STORED)).toBe(false);
  });

  it("that are typed replace what is stored, beside ones that are kept", () => {
    const rows = rowsOf(STORED).map((row) =>
      row.name === "Authorization" ? { ...row, value: "Bearer new" } : row,
    );
    expect(mapOf(rows)).toEqual({ Authorization: "Bearer new", "X-Team": MASK });
    expect(hasChanged(rows, STORED)).toBe(true);
  });

  it("whose row is removed are left out, so that the server forgets them", () => {
    const rows = rowsOf(STORED).slice(0, 1);
    expect(mapOf(rows)).toEqual({ Authorization: MASK });
    expect(hasChanged(rows, STORED)).toBe(true);
  });

  it("cannot be kept under another name: the value has to be typed again", () => {
    const [first, ...rest] = rowsOf(STORED);
    if (!first) throw new Error("no row");
    const renamed = { ...first, name: "Proxy-Authorization" };
    expect(isKept(renamed)).toBe(false);
    expect([...rowProblems([renamed, ...rest])]).toEqual([[renamed.id, "value"]]);
    expect(rowProblems([{ ...renamed, value: "x" }, ...rest]).size).toBe(0);
  });

  it("are never in a form that was filled from the server", () => {
    expect(rowsOf(STORED).map((row) => row.value)).toEqual(["", ""]);
  });

  it("need a name, a value and no twin; empty rows do not matter", () => {
    const nameless = newRow("", "v");
    const valueless = newRow("A", "");
    const one = newRow("B", "1");
    const twin = newRow(" B ", "2");
    const problems = rowProblems([nameless, valueless, one, twin, newRow()]);
    expect(Object.fromEntries(problems)).toEqual({
      [nameless.id]: "name",
      [valueless.id]: "value",
      [twin.id]: "twice",
    });
    expect(mapOf([one, newRow()])).toEqual({ B: "1" });
  });
});
