/** What backs a figure, in words and places. Pure. */

import type { UnbackedFigure, VerifiedFigure } from "@/events/types";

/** How a figure was found → the key of its sentence. */
const HOW = {
  cell: "how.cell",
  label: "how.label",
  row_count: "how.rowCount",
  count: "how.count",
  distinct: "how.distinct",
  sum: "how.sum",
  mean: "how.mean",
  median: "how.median",
  min: "how.min",
  max: "how.max",
  difference: "how.difference",
  ratio: "how.ratio",
  percent_change: "how.percentChange",
  share: "how.share",
  sum_of_rows: "how.sumOfRows",
} as const;

const WHY = { not_found: "why.notFound", other_row: "why.otherRow" } as const;

export function howKey(figure: VerifiedFigure) {
  return isKeyOf(HOW, figure.how) ? HOW[figure.how] : "how.other";
}

export function whyKey(figure: UnbackedFigure) {
  return isKeyOf(WHY, figure.reason) ? WHY[figure.reason] : "why.other";
}

function isKeyOf<Table extends object>(table: Table, key: string): key is keyof Table & string {
  return Object.hasOwn(table, key);
}

/**
 * An expression with rows counted as people do, from 1: `sales[0] - sales[1]` is
 * `sales (row 1) - sales (row 2)`. A bracket that is part of a column's name stays.
 */
export function readableExpression(
  expression: string,
  columns: string[],
  rowWord: (rows: string) => string,
): string {
  const names = [...columns].sort((one, two) => two.length - one.length).map(escaped);
  if (names.length === 0) return expression;
  const cell = new RegExp(`(${names.join("|")})\\[(\\d+(?:, \\d+)*)\\]`, "g");
  return expression.replace(cell, (_, name: string, rows: string) => {
    const counted = rows.split(", ").map((row) => String(Number(row) + 1));
    return `${name} (${rowWord(counted.join(", "))})`;
  });
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}

/** The rows that an expression speaks of, counted from 0. */
export function evidenceRowsOf(figure: VerifiedFigure): number[] {
  if (figure.row !== undefined) return [figure.row];
  const found = figure.expression?.matchAll(/\[(\d+(?:, \d+)*)\]/g) ?? [];
  const rows = [...found].flatMap((match) => (match[1] ?? "").split(", ").map(Number));
  return [...new Set(rows)].sort((one, two) => one - two);
}

const AROUND = 2;

/** The rows to fetch so that a row is seen among its neighbours. */
export function windowAround(row: number): { offset: number; limit: number } {
  const offset = Math.max(0, row - AROUND);
  return { offset, limit: row - offset + AROUND + 1 };
}
