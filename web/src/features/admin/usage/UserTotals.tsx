/** What each user used in all. */

import { useTranslation } from "react-i18next";

import { Table, type Column } from "@/components/ui/Table";

import { formatAmount } from "./amounts";
import type { Measure, UserTotal } from "./stacks";

interface UserTotalsProps {
  totals: UserTotal[];
  measures: readonly Measure[];
  currency: string;
}

export function UserTotals({ totals, measures, currency }: UserTotalsProps) {
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
