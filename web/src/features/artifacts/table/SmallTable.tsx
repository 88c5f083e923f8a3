/** A few rows of a result as they are. `marked` is a cell to point at. */

import { classes } from "@/lib/classes";
import type { Json } from "@/events/types";

import { cellText, isNumberType } from "../cells";
import type { ResultColumn } from "../previews";
import { CellValue } from "./CellValue";

interface SmallTableProps {
  label: string;
  columns: ResultColumn[];
  rows: Json[][];
  /** The number of the first row, counted from 1; given, rows show their number. */
  firstRow?: number;
  /** Places among `rows` and `columns`; without a column the whole row is meant. */
  marked?: { row: number; column: number | null };
}

export function SmallTable({ label, columns, rows, firstRow, marked }: SmallTableProps) {
  const side = (column: ResultColumn) =>
    isNumberType(column.type) ? "text-right tabular-nums" : "text-left";
  const isMarked = (row: number, column: number) =>
    marked?.row === row && (marked.column === null || marked.column === column);
  return (
    <div role="region" aria-label={label} tabIndex={0} className="overflow-x-auto">
      <table className="w-full border-collapse text-[13px]">
        <thead>
          <tr className="border-b border-line text-xs text-muted">
            {firstRow !== undefined && <th aria-label="#" className="px-3 py-1.5" />}
            {columns.map((column, at) => (
              <th
                key={at}
                scope="col"
                title={column.name}
                className={classes("max-w-56 truncate px-3 py-1.5 font-medium", side(column))}
              >
                {column.name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, rowAt) => (
            <tr key={rowAt} className="border-b border-line/60 last:border-0">
              {firstRow !== undefined && (
                <th scope="row" className="px-3 py-1 text-right text-xs font-normal text-muted">
                  {firstRow + rowAt}
                </th>
              )}
              {columns.map((column, at) => (
                <td
                  key={at}
                  title={cellText(row[at]) ?? undefined}
                  className={classes(
                    "max-w-72 truncate px-3 py-1",
                    side(column),
                    isMarked(rowAt, at) && "bg-good-soft font-semibold",
                  )}
                >
                  <CellValue value={row[at]} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
