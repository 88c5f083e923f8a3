/** Which colour is whose, with their sum. */

import { useTranslation } from "react-i18next";

import { formatAmount } from "./amounts";
import { colourOf } from "./colours";
import { OTHERS, type Series } from "./stacks";
import type { Unit } from "./StackedBars";

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
