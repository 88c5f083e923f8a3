/** Sums to choose from, the bars of the chosen one, and what each user used. */

import { useTranslation } from "react-i18next";

import { Card } from "@/components/ui/Page";

import { DayTable } from "./DayTable";
import { Legend } from "./Legend";
import { MeasureTiles } from "./MeasureTiles";
import { StackedBars } from "./StackedBars";
import { chartOf, MEASURES, totalsOf, type DayUsage, type Measure } from "./stacks";
import { UserTotals } from "./UserTotals";

interface UsageChartsProps {
  usage: DayUsage[];
  days: string[];
  measure: Measure;
  onMeasure: (measure: Measure) => void;
}

export function UsageCharts({ usage, days, measure, onMeasure }: UsageChartsProps) {
  const { t } = useTranslation("admin");
  const currency = usage.find((each) => each.currency !== null)?.currency ?? null;
  const measures = MEASURES.filter((each) => each !== "cost" || currency !== null);
  const shown = measures.includes(measure) ? measure : "tokens";
  const unit = { measure: shown, currency: currency ?? "USD" };
  const chart = chartOf(usage, shown, days);
  const totals = totalsOf(usage);
  return (
    <div className="grid min-w-0 gap-4">
      <MeasureTiles
        totals={totals}
        measures={measures}
        currency={unit.currency}
        chosen={shown}
        onChoose={onMeasure}
      />
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
      <UserTotals totals={totals} measures={measures} currency={unit.currency} />
      {currency === null && <p className="text-xs text-muted">{t("usage.noPrices")}</p>}
    </div>
  );
}
