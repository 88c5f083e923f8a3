/** The figures of the chart, a line a day. */

import { useTranslation } from "react-i18next";

import { Table, type Column } from "@/components/ui/Table";
import { formatDay } from "@/lib/format";

import { formatAmount } from "./amounts";
import { OTHERS, type Bar, type Chart } from "./stacks";
import type { Unit } from "./StackedBars";

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
