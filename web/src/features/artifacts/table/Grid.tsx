/** A large table that renders only the rows in sight, and is walked through with the keyboard. */

import { useQueries } from "@tanstack/react-query";
import { useVirtualizer, type VirtualItem } from "@tanstack/react-virtual";
import { ArrowDown, ArrowUp } from "lucide-react";
import { useId, useRef, useState, type KeyboardEvent } from "react";
import { useTranslation } from "react-i18next";

import { CopyButton, useCopy } from "@/components/ui/CopyButton";
import { Dialog } from "@/components/ui/Dialog";
import { toast } from "@/components/ui/toast";
import type { Json } from "@/events/types";
import { classes } from "@/lib/classes";

import { cellText, isNumberType, shownText } from "../cells";
import type { ResultColumn } from "../previews";
import { pageQuery, type Sort } from "../queries";
import { Gone } from "../ResultCard";
import { actOf, moved, type CellAct, type CellPlace } from "./activeCell";
import { columnWidth, MAX_ROWS, pagesFor, placeOf } from "./paging";
import { CellValue } from "./SmallTable";

interface GridProps {
  artifactId: string;
  label: string;
  columns: ResultColumn[];
  total: number;
  /** Some rows, to find widths by. */
  samples: Json[][];
  sort: Sort | null;
  onSort: (sort: Sort | null) => void;
}

const ROW_HEIGHT = 32;

/**
 * All rows of a result: only what is in view is drawn and fetched. One tab stop; the arrow keys
 * move between cells, Enter opens one, Ctrl+C copies it.
 */
export function Grid({ artifactId, label, columns, total, samples, sort, onSort }: GridProps) {
  const { t } = useTranslation("results");
  const copy = useCopy();
  const gridId = useId();
  const scroller = useRef<HTMLDivElement>(null);
  const [active, setActive] = useState<CellPlace | null>(null);
  const [opened, setOpened] = useState<CellPlace | null>(null);
  const rowCount = Math.min(total, MAX_ROWS);
  // eslint-disable-next-line react-hooks/incompatible-library -- no compiler memoizes this component
  const rows = useVirtualizer({
    count: rowCount,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_HEIGHT,
    overscan: 8,
    scrollPaddingStart: ROW_HEIGHT,
    paddingStart: ROW_HEIGHT,
  });
  const across = useVirtualizer({
    horizontal: true,
    count: columns.length,
    getScrollElement: () => scroller.current,
    estimateSize: (at) =>
      columnWidth(
        columns[at]?.name ?? "",
        samples.map((row) => shownText(row[at]) ?? ""),
      ),
    overscan: 2,
  });
  const inView = rows.getVirtualItems();
  const view = { first: inView[0]?.index ?? 0, last: inView.at(-1)?.index ?? 0 };
  const { rowAt, error, retry } = useRows(artifactId, sort, rowCount, view);
  const textAt = (at: CellPlace) => cellText(rowAt(at.row)?.[at.column]) ?? "";

  const sortBy = (next: Sort | null) => {
    onSort(next);
    rows.scrollToIndex(0);
    setActive((at) => at && { ...at, row: 0 });
  };
  const acts: Record<CellAct, (at: CellPlace) => void> = {
    open: setOpened,
    sort: (at) => {
      const column = columns[at.column]?.name ?? "";
      sortBy(nextSort(column, sort?.column === column ? sort : null));
    },
    copy: (at) => copy(textAt(at), () => toast(t("cellCopied"))),
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const to = moved(active, event, { row: rowCount - 1, column: columns.length - 1 });
    const act = actOf(event);
    if (to) {
      event.preventDefault();
      setActive(to);
      rows.scrollToIndex(to.row);
      across.scrollToIndex(to.column);
    } else if (active && act !== null) {
      event.preventDefault();
      acts[act](active);
    }
  };
  const columnsInView = across.getVirtualItems();
  return (
    <>
      {error !== null && <Gone error={error} onRetry={retry} />}
      <div
        ref={scroller}
        role="grid"
        aria-label={label}
        aria-rowcount={total + 1}
        aria-colcount={columns.length}
        aria-activedescendant={active ? cellId(gridId, active.row, active.column) : undefined}
        tabIndex={0}
        onKeyDown={onKeyDown}
        className="min-h-0 flex-1 overflow-auto rounded-lg border border-line outline-offset-0"
      >
        <div
          role="rowgroup"
          className="relative min-w-full"
          style={{ height: rows.getTotalSize(), width: across.getTotalSize() }}
        >
          <GridHeader columns={columns} shown={columnsInView} sort={sort} onSort={sortBy} />
          {inView.map((place) => (
            <GridRow
              key={place.key}
              gridId={gridId}
              place={place}
              columns={columns}
              shown={columnsInView}
              row={rowAt(place.index)}
              active={active?.row === place.index ? active.column : null}
              onPick={(column) => setActive({ row: place.index, column })}
              onOpen={(column) => setOpened({ row: place.index, column })}
            />
          ))}
        </div>
      </div>
      <CellDialog
        name={opened ? (columns[opened.column]?.name ?? "") : ""}
        text={opened ? textAt(opened) : null}
        onClose={() => setOpened(null)}
      />
    </>
  );
}

interface GridHeaderProps {
  columns: ResultColumn[];
  shown: VirtualItem[];
  sort: Sort | null;
  onSort: (sort: Sort | null) => void;
}

/** The names of the columns; a click sorts by one: up, down, as it was. */
function GridHeader({ columns, shown, sort, onSort }: GridHeaderProps) {
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
function nextSort(column: string, state: Sort | null): Sort | null {
  if (state === null) return { column, isDescending: false };
  return state.isDescending ? null : { column, isDescending: true };
}

function sortWord(state: Sort | null): "ascending" | "descending" | "none" {
  if (state === null) return "none";
  return state.isDescending ? "descending" : "ascending";
}

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
function cellId(gridId: string, row: number, column: number): string {
  return `${gridId}-${row}-${column}`;
}

/** One row of the grid; grey bars stand where its values are on their way. */
function GridRow(props: GridRowProps) {
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

interface CellDialogProps {
  name: string;
  /** null: closed. */
  text: string | null;
  onClose: () => void;
}

/** One value in full, however long it is. */
function CellDialog({ name, text, onClose }: CellDialogProps) {
  const { t } = useTranslation("results");
  return (
    <Dialog isOpen={text !== null} onClose={onClose} title={name} width="medium">
      <div className="flex items-start gap-2 pb-3">
        <pre className="min-w-0 flex-1 rounded-lg bg-sunken p-3 font-sans text-sm [overflow-wrap:anywhere] whitespace-pre-wrap">
          {text}
        </pre>
        <CopyButton text={text ?? ""} label={t("copyCell")} />
      </div>
    </Dialog>
  );
}

interface RowsInView {
  /** undefined: on its way. */
  rowAt: (row: number) => Json[] | undefined;
  error: unknown;
  retry: () => void;
}

/** The rows of a large result that are in view, fetched page by page as it is scrolled. */
function useRows(
  artifactId: string,
  sort: Sort | null,
  total: number,
  view: { first: number; last: number },
): RowsInView {
  const pages = pagesFor(view.first, view.last, total);
  const queries = useQueries({
    queries: pages.map((page) => pageQuery(artifactId, sort, page, total)),
  });
  const failed = queries.filter((query) => query.error !== null);
  return {
    rowAt: (row) => {
      const { page, at } = placeOf(row);
      return queries[pages.indexOf(page)]?.data?.[at];
    },
    error: failed[0]?.error ?? null,
    retry: () => {
      for (const query of failed) void query.refetch();
    },
  };
}
