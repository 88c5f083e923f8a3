import { expect, test } from "vitest";

import { foundIn } from "./search";

const table = (key: string) => ({
  key,
  name: key,
  schema: null,
  is_view: false,
  comment: null,
  row_count: 1,
  primary_key: [],
  foreign_keys: [],
  columns: [],
});

const catalogue = (
  hits: { table_key: string; columns: string[]; score: number; why: string }[],
) => ({
  source_id: "s",
  dialect: "sqlite",
  hash: "h",
  refreshed_at: "2026-01-01T00:00:00.000Z",
  table_count: 2,
  drift: [],
  drifted_at: null,
  left_out: [],
  problem: null,
  tables: [table("Invoice"), table("Customer")],
  hits,
});

test("tables that fit are found, those that only join them are not", () => {
  const found = foundIn(
    catalogue([
      { table_key: "Invoice", columns: ["Total"], score: 5, why: "column name: total" },
      { table_key: "Customer", columns: ["Email"], score: 1, why: "joins Invoice" },
    ]),
  );
  expect(found).toEqual([{ table: table("Invoice"), columns: ["Total"], score: 5 }]);
});

test("one that fits and joins is found", () => {
  const why = "joins Invoice; value: sal";
  const hit = { table_key: "Customer", columns: "abcdefgh".split(""), score: 1, why };
  expect(foundIn(catalogue([hit]))[0]?.columns).toEqual(["a", "b", "c", "d", "e"]);
});

test("a hit whose table the reader does not see is none", () => {
  expect(foundIn(catalogue([{ table_key: "X", columns: [], score: 1, why: "name" }]))).toEqual([]);
});
