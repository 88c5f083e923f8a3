/** What an artefact's event says of it, read into types: the server's JSON ends here. */

import type { Schemas } from "@/api/client";
import type { Json, JsonObject } from "@/events/types";

export interface ResultColumn {
  name: string;
  type: string;
}

/** What a result rests on. The dialect is not in an event. */
export type Receipt = Omit<Schemas["ReceiptInfo"], "source_id" | "dialect"> & { dialect?: string };

export interface TablePreview {
  rowCount: number;
  columns: ResultColumn[];
  rows: Json[][];
  /** How many columns of the result are not among `columns`. */
  otherColumns: number;
  receipt: Receipt | null;
}

export interface FilePreview {
  size: number | null;
  contentType: string;
}

/** The first rows of a table; null: the event has none that can be shown as they are. */
export function readTablePreview(preview: JsonObject | null): TablePreview | null {
  const { row_count: rowCount, columns, rows, receipt } = preview ?? {};
  if (typeof rowCount !== "number" || !Array.isArray(columns) || !Array.isArray(rows)) return null;
  const lists = rows.filter((row): row is Json[] => Array.isArray(row));
  const isLeftOut = lists.length === 0 && rowCount > 0;
  if (isLeftOut || lists.flat().some(isInexact)) return null;
  return {
    rowCount,
    columns: columns.filter(isObject).map((column) => ({
      name: textOf(column["name"]),
      type: textOf(column["type"]),
    })),
    rows: lists,
    otherColumns: countOthers(preview?.["other_columns"]),
    receipt: isObject(receipt) ? readReceipt(receipt) : null,
  };
}

/** The id of the table that a chart draws. */
export function readParentId(preview: JsonObject | null): string | null {
  const parent = preview?.["parent_id"];
  return typeof parent === "string" ? parent : null;
}

export function readFilePreview(preview: JsonObject | null): FilePreview {
  const size = preview?.["size"];
  return {
    size: typeof size === "number" ? size : null,
    contentType: textOf(preview?.["content_type"]),
  };
}

/** An integer that this browser's numbers cannot hold: it was changed when it was read. */
function isInexact(value: Json): boolean {
  return typeof value === "number" && Number.isInteger(value) && !Number.isSafeInteger(value);
}

function readReceipt(receipt: JsonObject): Receipt {
  const { policy, warnings, duration_ms: duration, row_count: rowCount } = receipt;
  const by = receipt["truncated_by"];
  return {
    source_name: textOf(receipt["source"]),
    sql: textOf(receipt["sql"]),
    sql_executed: textOf(receipt["sql_executed"]),
    row_count: typeof rowCount === "number" ? rowCount : 0,
    truncated: receipt["truncated"] === true,
    truncated_by: isLimit(by) ? by : null,
    duration_ms: typeof duration === "number" ? duration : 0,
    policy: Array.isArray(policy) ? policy.map(textOf) : [],
    warnings: Array.isArray(warnings) ? warnings.map(textOf) : [],
    time_zone: textOf(receipt["time_zone"]),
    executed_at: textOf(receipt["executed_at"]),
  };
}

function isLimit(by: Json | undefined): by is NonNullable<Receipt["truncated_by"]> {
  return by === "rows" || by === "bytes" || by === "time" || by === "values";
}

function countOthers(others: Json | undefined): number {
  const count = isObject(others) ? others["count"] : 0;
  return typeof count === "number" ? count : 0;
}

function textOf(value: Json | undefined): string {
  return typeof value === "string" ? value : "";
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
