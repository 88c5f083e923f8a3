/** A bar for each day, stacked by user. The same figures stand in a table beside it. */

import { useTranslation } from "react-i18next";

import { formatDay } from "@/lib/format";

import { formatAmount, formatMark } from "./amounts";
import { colourOf } from "./colours";
import { ticksOf, type Bar, type Chart, type Measure } from "./stacks";

export interface Unit {
  measure: Measure;
  currency: string;
}

const MOST_LABELS = 6;

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
          <Column key={bar.day} bar={bar} unit={unit} percent={percent} />
        ))}
      </div>
      <DayLabels bars={chart.bars} />
    </div>
  );
}

interface ColumnProps {
  bar: Bar;
  unit: Unit;
  percent: (amount: number) => string;
}

function Column({ bar, unit, percent }: ColumnProps) {
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
