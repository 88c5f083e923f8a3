/** What was used in all, one tile a measure; the pressed one is in the chart. */

import { useTranslation } from "react-i18next";

import { classes } from "@/lib/classes";

import { formatAmount } from "./amounts";
import type { Measure, UserTotal } from "./stacks";

interface MeasureTilesProps {
  totals: UserTotal[];
  measures: readonly Measure[];
  currency: string;
  chosen: Measure;
  onChoose: (measure: Measure) => void;
}

export function MeasureTiles({ totals, measures, currency, chosen, onChoose }: MeasureTilesProps) {
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
