/** What was used, by day and user, and what it cost. */

import { queryOptions, useQuery } from "@tanstack/react-query";
import { ChartNoAxesColumn } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";

import { api, call } from "@/api/client";
import { Banner } from "@/components/ui/Banner";
import { Button } from "@/components/ui/Button";
import { Card } from "@/components/ui/Page";
import { EmptyState } from "@/components/ui/States";
import { Table, type Column } from "@/components/ui/Table";
import { classes } from "@/lib/classes";

import { Fields, input, user } from "../kit/form";
import { Section } from "../kit/list";
import { Loaded } from "../kit/load";
import { DayTable, Legend, StackedBars } from "./chart";
import {
  chartOf,
  daysOf,
  formatAmount,
  lastDays,
  MEASURES,
  totalsOf,
  type DayRange,
  type Measure,
  type UserDayUsage,
  type UserTotal,
} from "./figures";

const PAGE_SIZE = 10_000;
const USUAL_DAYS = 30;
const QUICK_DAYS = [7, 30, 90] as const;

/** All days of the range, of one user or, with "", of everybody. */
async function loadUsage(range: DayRange, userId: string): Promise<UserDayUsage[]> {
  const whose = userId === "" ? { all_users: true } : { user_id: userId };
  const found: UserDayUsage[] = [];
  for (;;) {
    const query = { ...range, ...whose, limit: PAGE_SIZE, offset: found.length };
    const { items, total } = await call(api.GET("/api/v1/usage", { params: { query } }));
    found.push(...items);
    if (items.length === 0 || found.length >= total) return found;
  }
}

interface UsageFilter extends DayRange {
  userId: string;
}

const usageQuery = ({ from, to, userId }: UsageFilter) =>
  queryOptions({
    queryKey: ["admin", "usage", from, to, userId],
    queryFn: () => loadUsage({ from, to }, userId),
  });

export function UsageSection() {
  const { t } = useTranslation("admin");
  const [now] = useState(() => Date.now());
  const [filter, setFilter] = useState(() => ({ ...lastDays(USUAL_DAYS, now), userId: "" }));
  const [measure, setMeasure] = useState<Measure>("tokens");
  const change = (changes: Partial<UsageFilter>) => setFilter({ ...filter, ...changes });
  const days = daysOf(filter);
  return (
    <Section title={t("sections.usage")} text={t("usage.text")}>
      <UsageFilters now={now} filter={filter} change={change} />
      {days.length === 0 ? (
        <Banner kind="warn">{t("usage.badRange")}</Banner>
      ) : (
        <UsageCharts filter={filter} days={days} measure={measure} onMeasure={setMeasure} />
      )}
    </Section>
  );
}

interface UsageFiltersProps {
  /** When the section was opened. */
  now: number;
  filter: UsageFilter;
  change: (changes: Partial<UsageFilter>) => void;
}

function UsageFilters({ now, filter, change }: UsageFiltersProps) {
  const { t } = useTranslation("admin");
  const isQuick = (count: number) => {
    const quick = lastDays(count, now);
    return quick.from === filter.from && quick.to === filter.to;
  };
  const day = (name: "from" | "to", limits: { min?: string; max?: string }) => (
    <div className="w-40">
      <Fields
        form={filter}
        change={change}
        fields={[input(name, t(`usage.${name}`), { type: "date", ...limits })]}
      />
    </div>
  );
  return (
    <div className="flex flex-wrap items-end gap-3">
      <div className="flex w-full gap-1" role="group" aria-label={t("usage.days")}>
        {QUICK_DAYS.map((count) => (
          <Button
            key={count}
            aria-pressed={isQuick(count)}
            className={isQuick(count) ? "border-accent bg-accent-soft" : ""}
            onClick={() => change(lastDays(count, now))}
          >
            {t("usage.lastDays", { count })}
          </Button>
        ))}
      </div>
      {day("from", { max: filter.to })}
      {day("to", { min: filter.from })}
      <div className="w-48">
        <Fields
          form={filter}
          change={change}
          fields={[user("userId", t("usage.user"), t("usage.everybody"))]}
        />
      </div>
    </div>
  );
}

interface UsageChartsProps {
  filter: UsageFilter;
  days: string[];
  measure: Measure;
  onMeasure: (measure: Measure) => void;
}

/** Sums to choose from, the bars of the chosen one, and what each user used. */
function UsageCharts({ filter, ...props }: UsageChartsProps) {
  const { t } = useTranslation("admin");
  return (
    <Loaded query={useQuery(usageQuery(filter))}>
      {(usage) =>
        usage.length === 0 ? (
          <EmptyState icon={ChartNoAxesColumn} title={t("usage.none")} text={t("usage.noneText")} />
        ) : (
          <Charts usage={usage} {...props} />
        )
      }
    </Loaded>
  );
}

interface ChartsProps extends Omit<UsageChartsProps, "filter"> {
  usage: UserDayUsage[];
}

function Charts({ usage, days, measure, onMeasure }: ChartsProps) {
  const { t } = useTranslation("admin");
  const currency = usage.find((each) => each.currency !== null)?.currency ?? null;
  const measures = MEASURES.filter((each) => each !== "cost" || currency !== null);
  const shown = measures.includes(measure) ? measure : "tokens";
  const unit = { measure: shown, currency: currency ?? "USD" };
  const chart = chartOf(usage, shown, days);
  const totals = totalsOf(usage);
  const amounts = { totals, measures, currency: unit.currency };
  return (
    <div className="grid min-w-0 gap-4">
      <MeasureTiles {...amounts} chosen={shown} onChoose={onMeasure} />
      <Card title={t("usage.chartTitle", { measure: t(`usage.measures.${shown}`) })}>
        <div className="grid gap-3">
          <StackedBars chart={chart} unit={unit} />
          <Legend series={chart.series} unit={unit} />
          <details className="text-sm">
            <summary className="text-accent">{t("usage.asTable")}</summary>
            <div className="mt-2">
              <DayTable chart={chart} unit={unit} />
            </div>
          </details>
        </div>
      </Card>
      <UserTotals {...amounts} />
      {currency === null && <p className="text-xs text-muted">{t("usage.noPrices")}</p>}
    </div>
  );
}

interface AmountsProps {
  totals: UserTotal[];
  measures: readonly Measure[];
  currency: string;
}

interface MeasureTilesProps extends AmountsProps {
  chosen: Measure;
  onChoose: (measure: Measure) => void;
}

/** What was used in all, one tile a measure; the pressed one is in the chart. */
function MeasureTiles({ totals, measures, currency, chosen, onChoose }: MeasureTilesProps) {
  const { t } = useTranslation("admin");
  const sumOf = (measure: Measure) => totals.reduce((sum, each) => sum + each[measure], 0);
  return (
    <div
      role="group"
      aria-label={t("usage.measure")}
      className="grid grid-cols-2 gap-2 sm:grid-cols-4 xl:auto-cols-fr xl:grid-flow-col xl:grid-cols-none"
    >
      {measures.map((measure) => (
        <button
          key={measure}
          type="button"
          aria-pressed={measure === chosen}
          onClick={() => onChoose(measure)}
          className={classes(
            "rounded-xl border border-line bg-raised px-3 py-2 text-left hover:border-line-strong",
            measure === chosen && "border-accent bg-accent-soft hover:border-accent",
          )}
        >
          <span className="block text-xs text-muted">{t(`usage.measures.${measure}`)}</span>
          <span className="block text-lg font-semibold tabular-nums">
            {formatAmount(sumOf(measure), measure, currency)}
          </span>
        </button>
      ))}
    </div>
  );
}

function UserTotals({ totals, measures, currency }: AmountsProps) {
  const { t } = useTranslation("admin");
  const columns: Column<UserTotal>[] = [
    { header: t("usage.user"), cell: (total) => total.name },
    ...measures.map((measure): Column<UserTotal> => ({
      header: t(`usage.measures.${measure}`),
      isRight: true,
      isMinor: measure === "tool_calls" || measure === "sql_seconds",
      cell: (total) => (
        <span className="tabular-nums">{formatAmount(total[measure], measure, currency)}</span>
      ),
    })),
  ];
  return (
    <Table
      label={t("usage.perUser")}
      columns={columns}
      rows={totals}
      rowKey={(total) => total.userId}
    />
  );
}
