/** A chart with its table and downloads. */

import { useQuery } from "@tanstack/react-query";
import { ChartColumn, Table2 } from "lucide-react";
import { useCallback, useEffect, useMemo, useRef, useState, useSyncExternalStore } from "react";
import { useTranslation } from "react-i18next";

import { Banner } from "@/components/ui/Banner";
import { Button } from "@/components/ui/Button";
import { LoadingState } from "@/components/ui/States";

import { artifactQuery, rowsQuery } from "../queries";
import { DownloadMenu, Gone, ResultCard } from "../ResultCard";
import { RowsNote, SmallTable } from "../table/SmallTable";
import { TableViewer } from "../table/TableViewer";
import "./chart.css";
import { cleanSpec, SpecRefused, type CleanSpec } from "./cleanSpec";
import type { Drawn } from "./draw";

interface ChartCardProps {
  artifactId: string;
  title: string;
  parentId: string | null;
}

/** The chart to draw, or why there is none. */
function prepared(spec: unknown): { chart: CleanSpec | null; failure: unknown } {
  try {
    return { chart: cleanSpec(spec), failure: null };
  } catch (failure) {
    return { chart: null, failure };
  }
}

/** A chart of a result, or its table where it cannot be drawn or the user prefers it. */
export function ChartCard({ artifactId, title, parentId }: ChartCardProps) {
  const { t } = useTranslation("results");
  const [isTable, setIsTable] = useState(false);
  const [drawFailure, setDrawFailure] = useState<unknown>(null);
  const onFailure = useCallback((error: unknown) => setDrawFailure(error), []);
  const query = useQuery(artifactQuery(artifactId));
  const spec = query.data?.spec;
  const { chart, failure } = useMemo(
    () => (spec ? prepared(spec) : { chart: null, failure: null }),
    [spec],
  );
  const tableId = query.data?.parent_id ?? parentId;
  const problem = failure ?? drawFailure;
  const isTableShown = tableId !== null && (isTable || problem !== null);
  const Other = isTable ? ChartColumn : Table2;
  return (
    <ResultCard
      kind="chart"
      icon={ChartColumn}
      title={title}
      actions={
        <>
          {tableId !== null && problem === null && (
            <Button size="small" variant="ghost" onClick={() => setIsTable(!isTable)}>
              <Other className="size-3.5" aria-hidden />
              {isTable ? t("showChart") : t("showTable")}
            </Button>
          )}
          <DownloadMenu tableId={tableId} chartId={artifactId} />
        </>
      }
    >
      {query.isLoading && <LoadingState lines={5} />}
      {query.error && (
        <div className="p-3">
          <Gone error={query.error} onRetry={() => void query.refetch()} />
        </div>
      )}
      {problem !== null && <ChartProblem problem={problem} hasTable={tableId !== null} />}
      {isTableShown && <TableOfChart tableId={tableId} title={title} />}
      {chart && !isTableShown && problem === null && (
        <ChartView chart={chart} label={title} onFailure={onFailure} />
      )}
    </ResultCard>
  );
}

/**
 * What the drawing library says of its failure is for nobody here: only our own refusals are told.
 */
function ChartProblem({ problem, hasTable }: { problem: unknown; hasTable: boolean }) {
  const { t } = useTranslation("results");
  const isRefused = problem instanceof SpecRefused;
  return (
    <div className="p-3">
      <Banner kind="warn">
        {hasTable ? t("chartFailed") : t("chartFailedAlone")}{" "}
        {isRefused && t(`chartRefused.${problem.reason}`, { path: problem.path })}
      </Banner>
    </div>
  );
}

interface ChartViewProps {
  chart: CleanSpec;
  label: string;
  onFailure: (error: unknown) => void;
}

/** A chart, as wide as its place. What points at a mark shows the mark's values. */
function ChartView({ chart, label, onFailure }: ChartViewProps) {
  const place = useRef<HTMLDivElement>(null);
  const look = usePageLook();
  const [tip, setTip] = useState<Tip | null>(null);

  useEffect(() => {
    const element = place.current;
    if (!element) return;
    let drawn: Drawn | null = null;
    const ending = new AbortController();
    const isOver = () => ending.signal.aborted;
    const start = async () => {
      const { drawChart } = await import("./draw");
      if (isOver()) return;
      const onTooltip = (_: unknown, event: MouseEvent, __: unknown, value: unknown) =>
        setTip(tipOf(event, value, element));
      const width = element.clientWidth;
      const made = await drawChart(element, chart, { width, label, onTooltip });
      if (isOver()) made.end();
      else drawn = made;
    };
    start().catch((error: unknown) => {
      if (!isOver()) onFailure(error);
    });
    const observer = new ResizeObserver(() => drawn?.resize(element.clientWidth));
    observer.observe(element);
    return () => {
      ending.abort();
      observer.disconnect();
      drawn?.end();
      element.replaceChildren();
    };
  }, [chart, label, look, onFailure]);

  return (
    <div className="relative px-3 py-2">
      <div
        role="img"
        aria-label={label}
        tabIndex={0} // it may be wider than its place
        className="min-h-72 overflow-x-auto overflow-y-hidden"
      >
        <div ref={place} />
      </div>
      {tip && <ChartTip tip={tip} />}
    </div>
  );
}

interface Tip {
  x: number;
  y: number;
  /** Whether it stands left of the pointer: the right edge is near. */
  isLeft: boolean;
  values: [string, string][];
}

/** What vega says of a mark → what is shown; null: nothing. */
function tipOf(event: MouseEvent, value: unknown, place: HTMLElement): Tip | null {
  if (typeof value !== "object" || value === null) return null;
  const box = place.getBoundingClientRect();
  const x = event.clientX - box.left;
  return {
    x,
    y: event.clientY - box.top,
    isLeft: x > box.width / 2,
    values: Object.entries(value).map(([name, each]) => [name, String(each)]),
  };
}

/** The values of the mark under the pointer. */
function ChartTip({ tip }: { tip: Tip }) {
  return (
    <dl
      role="tooltip"
      className="pointer-events-none absolute z-10 grid max-w-72 grid-cols-[auto_auto] gap-x-3 rounded-lg border border-line bg-raised px-2.5 py-1.5 text-xs shadow-float"
      style={{
        left: tip.x,
        top: tip.y,
        transform: `translate(${tip.isLeft ? "calc(-100% - 4px)" : "28px"}, -50%)`,
      }}
    >
      {tip.values.map(([name, value]) => (
        <div key={name} className="contents">
          <dt className="text-muted">{name}</dt>
          <dd className="text-right font-medium [overflow-wrap:anywhere] tabular-nums">{value}</dd>
        </div>
      ))}
    </dl>
  );
}

const FIRST_ROWS = 10;

/** The first rows of the table that a chart draws, with what they rest on. */
function TableOfChart({ tableId, title }: { tableId: string; title: string }) {
  const { t } = useTranslation("results");
  const [isOpen, setIsOpen] = useState(false);
  const query = useQuery(rowsQuery(tableId, 0, FIRST_ROWS));
  const table = query.data;
  return (
    <div className="grid min-w-0 gap-1 py-2">
      {query.isLoading && <LoadingState lines={5} />}
      {query.error && (
        <div className="px-3">
          <Gone error={query.error} onRetry={() => void query.refetch()} />
        </div>
      )}
      {table && (
        <SmallTable
          label={t("firstRowsOf", { title })}
          columns={table.columns}
          rows={table.page?.rows ?? []}
        />
      )}
      {table && (
        <div className="flex items-center justify-between gap-2 px-3">
          <RowsNote rowCount={table.row_count} truncatedBy={table.receipt?.truncated_by ?? null} />
          <Button size="small" onClick={() => setIsOpen(true)}>
            {t("open")}
          </Button>
        </div>
      )}
      <TableViewer
        artifactId={tableId}
        title={title}
        isOpen={isOpen}
        onClose={() => setIsOpen(false)}
      />
    </div>
  );
}

function onChange(listener: () => void): () => void {
  const observer = new MutationObserver(listener);
  observer.observe(document.documentElement, { attributeFilter: ["data-theme"] });
  return () => observer.disconnect();
}

/** Light or dark, as the page is now: charts are drawn anew when it changes. */
function usePageLook(): string {
  return useSyncExternalStore(onChange, () => document.documentElement.dataset["theme"] ?? "");
}
