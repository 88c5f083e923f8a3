import { expect, test } from "vitest";

import { actOf, moved } from "./activeCell";

const END = { row: 99, column: 4 };
const key = (name: string, ctrlKey = false) => ({ key: name, ctrlKey, metaKey: false });

test("arrows move by one and stop at the edges", () => {
  expect(moved({ row: 3, column: 2 }, key("ArrowDown"), END)).toEqual({ row: 4, column: 2 });
  expect(moved({ row: 0, column: 0 }, key("ArrowUp"), END)).toEqual({ row: 0, column: 0 });
  expect(moved({ row: 3, column: 4 }, key("ArrowRight"), END)).toEqual({ row: 3, column: 4 });
  expect(moved({ row: 95, column: 1 }, key("PageDown"), END)).toEqual({ row: 99, column: 1 });
});

test("the first key enters at the first cell", () => {
  expect(moved(null, key("ArrowDown"), END)).toEqual({ row: 0, column: 0 });
});

test("control with home and end leads to the corners", () => {
  expect(moved({ row: 3, column: 2 }, key("End", true), END)).toEqual(END);
  expect(moved({ row: 3, column: 2 }, key("Home", true), END)).toEqual({ row: 0, column: 0 });
});

test("other keys, and an empty grid, are left alone", () => {
  expect(moved({ row: 3, column: 2 }, key("a"), END)).toBeNull();
  expect(moved({ row: 3, column: 2 }, key("ArrowDown", true), END)).toBeNull();
  expect(moved(null, key("ArrowDown"), { row: -1, column: 3 })).toBeNull();
});

test("a cell is opened, sorted by and copied; the browser's own keys stay the browser's", () => {
  expect([key("Enter"), key("s"), key("c", true)].map(actOf)).toEqual(["open", "sort", "copy"]);
  expect([key("s", true), key("c"), key("Enter", true), key("a", true)].map(actOf)).toEqual([
    null,
    null,
    null,
    null,
  ]);
});
