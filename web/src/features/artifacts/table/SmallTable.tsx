/** A few rows of a table, and how many there are. */

import { useTranslation } from "react-i18next";

import type { Json } from "@/events/types";
import { classes } from "@/lib/classes";
import { formatNumber } from "@/lib/format";

import { cellText, isNumberType, shownText } from "../cells";
import type { Receipt, ResultColumn } from "../previews";

interface SmallTableProps {
  label: string;
  columns: ResultColumn[];
  rows: Json[][];
  /** The number of the first row, counted from 1; given, rows show their number. */
  firstRow?: number;
  /** Places among `rows` and `columns`; without a column the whole row is meant. */
  marked?: { row: number; column: number | null };
}

/** A few rows of a result as they are. `marked` is a cell to point at. */
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

/** A value of a result. No value is shown as such, and is not an empty text. */
export function CellValue({ value }: { value: Json | undefined }) {
  const text = shownText(value);
  if (text === null) return <span className="text-muted italic">NULL</span>;
  return text;
}

interface RowsNoteProps {
  rowCount: number;
  truncatedBy: Receipt["truncated_by"];
}

/** How many rows there are, and whether the source had more. */
export function RowsNote({ rowCount, truncatedBy }: RowsNoteProps) {
  const { t } = useTranslation("results");
  return (
    <p className="text-xs text-muted">
      {t("rows", { count: rowCount, number: formatNumber(rowCount) })}
      {truncatedBy && <span className="font-medium text-warn"> · {t(`cut.${truncatedBy}`)}</span>}
    </p>
  );
}
