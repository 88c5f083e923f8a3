/** A plain table for lists of things; `features/artifacts` has the one for data. */

import type { ReactNode } from "react";

export interface Column<Row> {
  header: string;
  cell: (row: Row) => ReactNode;
  /** Numbers and buttons stand right. */
  isRight?: boolean;
  /** Left out at phone width. */
  isMinor?: boolean;
}

interface TableProps<Row> {
  label: string;
  columns: Column<Row>[];
  rows: Row[];
  rowKey: (row: Row) => string | number;
}

export function Table<Row>({ label, columns, rows, rowKey }: TableProps<Row>) {
  const look = (column: Column<Row>) =>
    `px-3 py-2 align-middle ${column.isRight === true ? "text-right" : "text-left"} ${
      column.isMinor === true ? "hidden md:table-cell" : ""
    }`;
  return (
    <div
      className="overflow-x-auto rounded-xl border border-line bg-raised"
      tabIndex={0}
      role="region"
      aria-label={label}
    >
      <table className="w-full text-sm">
        <thead className="border-b border-line bg-sunken text-xs text-muted">
          <tr>
            {columns.map((column, at) => (
              <th key={at} scope="col" className={`${look(column)} font-medium whitespace-nowrap`}>
                {column.header}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={rowKey(row)} className="border-b border-line last:border-0">
              {columns.map((column, at) => (
                <td key={at} className={look(column)}>
                  {column.cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
