import { describe, expect, test } from "vitest";

import { columnWidth, fullPage, ROWS_PAGE_SIZE, pagesFor, placeOf } from "./paging";

describe("pagesFor", () => {
  test("rows within one page need that page", () => {
    expect(pagesFor(0, 30, 1000)).toEqual([0]);
    expect(pagesFor(ROWS_PAGE_SIZE, 2 * ROWS_PAGE_SIZE - 1, 1000)).toEqual([1]);
  });

  test("rows across a border need both pages", () => {
    expect(pagesFor(ROWS_PAGE_SIZE - 1, ROWS_PAGE_SIZE, 1000)).toEqual([0, 1]);
  });

  test("nothing is asked for beyond the last row", () => {
    expect(pagesFor(190, 900, ROWS_PAGE_SIZE + 1)).toEqual([0, 1]);
    expect(pagesFor(0, 30, 0)).toEqual([]);
  });

  test("every row is on the page that its range asks for", () => {
    for (const row of [0, 1, ROWS_PAGE_SIZE - 1, ROWS_PAGE_SIZE, 12_345]) {
      const { page, at } = placeOf(row);
      expect(pagesFor(row, row, 1_000_000)).toEqual([page]);
      expect(page * ROWS_PAGE_SIZE + at).toBe(row);
    }
  });
});

describe("fullPage", () => {
  /** A server with rows 0, 1, 2, … that sends at most `most` of them at once. */
  function server(total: number, most: number) {
    const asked: [number, number][] = [];
    const fetchRows = (offset: number, limit: number) => {
      asked.push([offset, limit]);
      const count = Math.max(0, Math.min(limit, most, total - offset));
      return Promise.resolve(Array.from({ length: count }, (_, at) => offset + at));
    };
    return { asked, fetchRows };
  }

  test("one answer is enough where the server sends all", async () => {
    const { asked, fetchRows } = server(1000, 1000);
    expect(await fullPage(200, 3, fetchRows)).toEqual([200, 201, 202]);
    expect(asked).toEqual([[200, 3]]);
  });

  test("a page that comes in parts has no hole", async () => {
    const { asked, fetchRows } = server(1000, 2);
    expect(await fullPage(10, 5, fetchRows)).toEqual([10, 11, 12, 13, 14]);
    expect(asked).toEqual([
      [10, 5],
      [12, 3],
      [14, 1],
    ]);
  });

  test("it ends where the rows end", async () => {
    const { fetchRows } = server(12, 100);
    expect(await fullPage(10, 5, fetchRows)).toEqual([10, 11]);
  });
});

test("a column is as wide as its longest value, within bounds", () => {
  expect(columnWidth("id", ["1"])).toBeLessThan(columnWidth("id", ["1".repeat(20)]));
  expect(columnWidth("销售额", [])).toBeGreaterThan(columnWidth("abc", []));
  expect(columnWidth("x", ["y".repeat(5000)])).toBe(320);
});
