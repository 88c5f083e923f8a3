/** The names of the columns; a click sorts by one: up, down, as it was. */

import type { VirtualItem } from "@tanstack/react-virtual";
import { ArrowDown, ArrowUp } from "lucide-react";
import { useTranslation } from "react-i18next";

import { classes } from "@/lib/classes";

import { isNumberType } from "../cells";
import type { ResultColumn } from "../previews";
import type { Sort } from "../queries";

interface GridHeaderProps {
  columns: ResultColumn[];
  shown: VirtualItem[];
  sort: Sort | null;
  onSort: (sort: Sort | null) => void;
}

export function GridHeader({ columns, shown, sort, onSort }: GridHeaderProps) {
  const { t } = useTranslation("results");
  return (
    <div
      role="row"
      aria-rowindex={1}
      className="sticky top-0 z-10 h-8 border-b border-line bg-sunken text-xs text-muted"
    >
      {shown.map((place) => {
        const column = columns[place.index];
        if (!column) return null;
        const state = sort?.column === column.name ? sort : null;
        const Arrow = state?.isDescending ? ArrowDown : ArrowUp;
        return (
          <div
            key={place.key}
            role="columnheader"
            aria-colindex={place.index + 1}
            aria-sort={sortWord(state)}
            className="absolute top-0 h-8"
            style={{ left: place.start, width: place.size }}
          >
            <button
              type="button"
              tabIndex={-1}
              title={`${column.name} · ${column.type} · ${t("sortHint")}`}
              onClick={() => onSort(nextSort(column.name, state))}
              className={classes(
                "flex h-full w-full items-center gap-1 px-3 font-medium hover:text-text",
                isNumberType(column.type) && "flex-row-reverse",
                state && "text-text",
              )}
            >
              <span className="truncate">{column.name}</span>
              {state && <Arrow className="size-3.5 shrink-0" aria-hidden />}
            </button>
          </div>
        );
      })}
    </div>
  );
}

/** Up, down, unsorted, up, … */
export function nextSort(column: string, state: Sort | null): Sort | null {
  if (state === null) return { column, isDescending: false };
  return state.isDescending ? null : { column, isDescending: true };
}

function sortWord(state: Sort | null): "ascending" | "descending" | "none" {
  if (state === null) return "none";
  return state.isDescending ? "descending" : "ascending";
}
