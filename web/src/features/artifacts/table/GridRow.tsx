/** One row of the grid; grey bars stand where its values are on their way. */

import type { VirtualItem } from "@tanstack/react-virtual";

import type { Json } from "@/events/types";
import { classes } from "@/lib/classes";

import { cellText, isNumberType } from "../cells";
import type { ResultColumn } from "../previews";
import { CellValue } from "./CellValue";

interface GridRowProps {
  gridId: string;
  place: VirtualItem;
  columns: ResultColumn[];
  shown: VirtualItem[];
  row: Json[] | undefined;
  /** The column of the active cell, if it is in this row. */
  active: number | null;
  onPick: (column: number) => void;
  onOpen: (column: number) => void;
}

/** The id of a cell, for `aria-activedescendant`. */
export function cellId(gridId: string, row: number, column: number): string {
  return `${gridId}-${row}-${column}`;
}

export function GridRow(props: GridRowProps) {
  const { gridId, place, columns, shown, row, active } = props;
  return (
    <div
      role="row"
      aria-rowindex={place.index + 2}
      className="absolute left-0 w-full border-b border-line/60 hover:bg-sunken/60"
      style={{ top: place.start, height: place.size }}
    >
      {shown.map(({ index, key, start, size }) => (
        <div
          key={key}
          id={cellId(gridId, place.index, index)}
          role="gridcell"
          aria-colindex={index + 1}
          aria-selected={active === index}
          title={cellText(row?.[index]) ?? undefined}
          onClick={() => (active === index ? props.onOpen(index) : props.onPick(index))}
          className={classes(
            "absolute top-0 flex h-full items-center px-3 text-[13px]",
            isNumberType(columns[index]?.type ?? "") && "justify-end tabular-nums",
            active === index && "outline-2 -outline-offset-2 outline-accent",
          )}
          style={{ left: start, width: size }}
        >
          <span className="truncate">
            {row ? (
              <CellValue value={row[index]} />
            ) : (
              <span className="inline-block h-3 w-12 rounded bg-sunken" />
            )}
          </span>
        </div>
      ))}
    </div>
  );
}
