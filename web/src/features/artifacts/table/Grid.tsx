/**
 * All rows of a result: only what is in view is drawn and fetched. One tab stop; the arrow keys
 * move between cells, Enter opens one, Ctrl+C copies it.
 */

import { useVirtualizer } from "@tanstack/react-virtual";
import { useId, useRef, useState, type KeyboardEvent } from "react";
import { useTranslation } from "react-i18next";

import { useCopy } from "@/components/ui/CopyButton";
import { toast } from "@/components/ui/toast";
import type { Json } from "@/events/types";

import { cellText, shownText } from "../cells";
import { Gone } from "../Gone";
import type { ResultColumn } from "../previews";
import type { Sort } from "../queries";
import { actOf, moved, type CellAct, type CellPlace } from "./activeCell";
import { CellDialog } from "./CellDialog";
import { GridHeader, nextSort } from "./GridHeader";
import { cellId, GridRow } from "./GridRow";
import { columnWidth, MAX_ROWS } from "./paging";
import { useRows } from "./useRows";

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
