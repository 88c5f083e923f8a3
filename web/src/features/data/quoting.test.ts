import { expect, test } from "vitest";

import { firstRowsSql, quoted } from "./quoting";

test.each([
  ["sqlite", `"a"`],
  ["postgres", `"a"`],
  ["duckdb", `"a"`],
  ["mysql", "`a`"],
  ["tsql", "[a]"],
  ["something new", `"a"`],
])("%s quotes as %s", (dialect, expected) => {
  expect(quoted("a", dialect)).toBe(expected);
});

test.each([
  ["sqlite", `x"; DROP TABLE y; --`, `"x""; DROP TABLE y; --"`],
  ["mysql", "x`; DROP TABLE y; --", "`x``; DROP TABLE y; --`"],
  ["tsql", "x]; DROP TABLE y; --", "[x]]; DROP TABLE y; --]"],
])("%s: a quote within a name does not end it", (dialect, name, expected) => {
  expect(quoted(name, dialect)).toBe(expected);
});

test("the first rows, as each dialect limits them", () => {
  const table = { name: "order lines", schema: "shop" };
  expect(firstRowsSql(table, "postgres", 20)).toBe(`SELECT * FROM "shop"."order lines" LIMIT 20`);
  expect(firstRowsSql(table, "tsql", 20)).toBe("SELECT TOP 20 * FROM [shop].[order lines]");
  expect(firstRowsSql(table, "oracle", 20)).toBe(
    `SELECT * FROM "shop"."order lines" FETCH FIRST 20 ROWS ONLY`,
  );
});

test("a name with a dot is one name where there is no schema", () => {
  expect(firstRowsSql({ name: "a.b", schema: null }, "duckdb", 5)).toBe(
    `SELECT * FROM "a.b" LIMIT 5`,
  );
});
