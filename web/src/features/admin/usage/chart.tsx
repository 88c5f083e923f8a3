/** A bar for each day, stacked by user, with its legend; the same figures as a table. */

import { useTranslation } from "react-i18next";

import "@/features/artifacts/chart/chart.css";
import { Table, type Column } from "@/components/ui/Table";
import { formatDay } from "@/lib/format";

import {
  type Bar,
  type Chart,
  formatAmount,
  formatMark,
  type Measure,
  OTHERS,
  type Series,
  ticksOf,
} from "./figures";

interface Unit {
  measure: Measure;
  currency: string;
}

const MOST_LABELS = 6;
const SERIES_COLOURS = 8;

/** The colour of a series by its place: those of charts of data. */
function colourOf(place: number): string {
  return `var(--series-${(place % SERIES_COLOURS) + 1})`;
}

export function StackedBars({ chart, unit }: { chart: Chart; unit: Unit }) {
  const { t } = useTranslation("admin");
  const ticks = ticksOf(Math.max(0, ...chart.bars.map((bar) => bar.total)));
  const top = ticks.at(-1) ?? 1;
  const percent = (amount: number) => `${(100 * amount) / top}%`;
  const label = t("usage.chartLabel", {
    measure: t(`usage.measures.${unit.measure}`),
    total: formatAmount(chart.total, unit.measure, unit.currency),
    from: dayText(chart.bars[0]),
    to: dayText(chart.bars.at(-1)),
  });
  return (
    <div role="img" aria-label={label} className="grid grid-cols-[auto_minmax(0,1fr)] gap-x-2 pt-2">
      <div className="grid justify-items-end text-[11px] text-muted tabular-nums">
        {ticks.map((tick) => (
          <span key={tick} className="invisible col-start-1 row-start-1 h-0">
            {formatMark(tick, unit.measure, unit.currency)}
          </span>
        ))}
        <div className="relative col-start-1 row-start-1 h-56 w-full">
          {ticks.map((tick) => (
            <span
              key={tick}
              className="absolute right-0 translate-y-1/2 leading-none"
              style={{ bottom: percent(tick) }}
            >
              {formatMark(tick, unit.measure, unit.currency)}
            </span>
          ))}
        </div>
      </div>
      <div className="relative flex h-56 items-end gap-px sm:gap-0.5">
        {ticks.map((tick) => (
          <div
            key={tick}
            className="absolute inset-x-0 border-t border-line"
            style={{ bottom: percent(tick) }}
          />
        ))}
        {chart.bars.map((bar) => (
          <DayColumn key={bar.day} bar={bar} unit={unit} percent={percent} />
        ))}
      </div>
      <DayLabels bars={chart.bars} />
    </div>
  );
}

interface DayColumnProps {
  bar: Bar;
  unit: Unit;
  percent: (amount: number) => string;
}

function DayColumn({ bar, unit, percent }: DayColumnProps) {
  const text = `${dayText(bar)}: ${formatAmount(bar.total, unit.measure, unit.currency)}`;
  return (
    <div
      title={text}
      className="relative flex h-full min-w-0 flex-1 flex-col-reverse hover:bg-sunken"
    >
      {bar.values.map((value, place) =>
        value === 0 ? null : (
          <div
            key={place}
            className="mx-auto w-full max-w-10"
            style={{ height: percent(value), backgroundColor: colourOf(place) }}
          />
        ),
      )}
    </div>
  );
}

function DayLabels({ bars }: { bars: Bar[] }) {
  const step = Math.max(1, Math.ceil(bars.length / MOST_LABELS));
  const labelled = bars.filter((_, at) => at % step === 0);
  return (
    <div className="col-start-2 mt-1 flex text-[11px] text-muted">
      {labelled.map((bar, at) => (
        <span
          key={bar.day}
          className="truncate"
          style={{ flexGrow: Math.min(step, bars.length - at * step), flexBasis: 0 }}
        >
          {shortDay(bar.day)}
        </span>
      ))}
    </div>
  );
}

function dayText(bar: Bar | undefined): string {
  return bar === undefined ? "" : formatDay(bar.day);
}

/** Month and day as numbers, as in the ISO form. */
function shortDay(day: string): string {
  return day.slice(5);
}

/** Which colour is whose, with their sum. */
export function Legend({ series, unit }: { series: Series[]; unit: Unit }) {
  const { t } = useTranslation("admin");
  return (
    <ul className="flex flex-wrap gap-x-4 gap-y-1 text-sm">
      {series.map((each, place) => (
        <li key={each.userId} className="inline-flex items-center gap-1.5">
          <span
            className="size-2.5 rounded-sm"
            style={{ backgroundColor: colourOf(place) }}
            aria-hidden
          />
          {each.userId === OTHERS ? t("usage.others") : each.name}
          <span className="text-muted tabular-nums">
            {formatAmount(each.total, unit.measure, unit.currency)}
          </span>
        </li>
      ))}
    </ul>
  );
}

/** The figures of the chart, a line a day. */
export function DayTable({ chart, unit }: { chart: Chart; unit: Unit }) {
  const { t } = useTranslation("admin");
  const amount = (value: number) => formatAmount(value, unit.measure, unit.currency);
  const columns: Column<Bar>[] = [
    { header: t("usage.day"), cell: (bar) => formatDay(bar.day) },
    { header: t("usage.all"), isRight: true, cell: (bar) => amount(bar.total) },
    ...chart.series.map((series, place): Column<Bar> => ({
      header: series.userId === OTHERS ? t("usage.others") : series.name,
      isRight: true,
      cell: (bar) => amount(bar.values[place] ?? 0),
    })),
  ];
  return (
    <Table
      label={t("usage.asTable")}
      columns={columns}
      rows={chart.bars.toReversed()}
      rowKey={(bar) => bar.day}
    />
  );
}
