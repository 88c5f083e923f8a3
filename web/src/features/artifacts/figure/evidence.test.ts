import { describe, expect, test } from "vitest";

import type { UnbackedFigure, VerifiedFigure } from "@/events/types";
import { results as en } from "@/i18n/en/results";
import { results as zh } from "@/i18n/zh/results";

import { howKey, readableExpression, evidenceRowsOf, whyKey, windowAround } from "./evidence";

const FIGURE = { text: "5", value: "5", start: 0, end: 1, kind: "plain" };
const verified = (more: Partial<VerifiedFigure>): VerifiedFigure => ({
  ...FIGURE,
  artifact_id: "a",
  how: "cell",
  ...more,
});
const unbacked = (reason: string): UnbackedFigure => ({ ...FIGURE, reason });

/** The text of a key such as `how.cell`. */
function textOf(key: string): unknown {
  return key
    .split(".")
    .reduce<unknown>((node, part) => (node as Record<string, unknown>)[part], en);
}

describe("sentences", () => {
  const ways = [
    ...["cell", "label", "row_count", "count", "distinct", "sum", "mean", "median", "min", "max"],
    ...["difference", "ratio", "percent_change", "share", "sum_of_rows"],
  ];
  test.each(ways)("a figure found as %s has its own", (how) => {
    const key = howKey(verified({ how }));
    expect(key).not.toBe("how.other");
    expect(textOf(key)).toEqual(expect.any(String));
  });

  test("every way has another sentence, in both languages", () => {
    for (const texts of [en.how, zh.how]) {
      expect(new Set(Object.values(texts)).size).toBe(Object.values(texts).length);
    }
  });

  test("an unknown way or reason still says something", () => {
    expect(howKey(verified({ how: "toString" }))).toBe("how.other");
    expect(whyKey(unbacked("constructor"))).toBe("why.other");
    expect(whyKey(unbacked("other_row"))).toBe("why.otherRow");
    expect(whyKey(unbacked("not_found"))).toBe("why.notFound");
  });
});

describe("expressions", () => {
  const row = (rows: string) => `row ${rows}`;

  test("rows are counted from 1", () => {
    expect(readableExpression("sales[0] - sales[1]", ["sales"], row)).toBe(
      "sales (row 1) - sales (row 2)",
    );
    expect(readableExpression("sum(sales[0, 2, 9])", ["sales"], row)).toBe(
      "sum(sales (row 1, 3, 10))",
    );
  });

  test("brackets of a name stay", () => {
    expect(readableExpression("x[3][0] / sum(x[3])", ["x[3]"], row)).toBe(
      "x[3] (row 1) / sum(x[3])",
    );
    expect(readableExpression("a.*[1]", ["a.*", "a"], row)).toBe("a.* (row 2)");
  });

  test("without rows nothing changes", () => {
    expect(readableExpression("row_count(*)", ["sales"], row)).toBe("row_count(*)");
    expect(readableExpression("x[0]", [], row)).toBe("x[0]");
  });
});

describe("places", () => {
  test("a cell's row, or the rows of an expression", () => {
    expect(evidenceRowsOf(verified({ row: 7, column: "sales" }))).toEqual([7]);
    expect(evidenceRowsOf(verified({ expression: "s[4] - s[1] / s[4]" }))).toEqual([1, 4]);
    expect(evidenceRowsOf(verified({ expression: "sum(s)" }))).toEqual([]);
  });

  test("a row is fetched with its neighbours", () => {
    expect(windowAround(0)).toEqual({ offset: 0, limit: 3 });
    expect(windowAround(1)).toEqual({ offset: 0, limit: 4 });
    expect(windowAround(100)).toEqual({ offset: 98, limit: 5 });
  });
});
