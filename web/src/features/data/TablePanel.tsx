/** One table of a source: what it is, its columns, its first rows. */

import { useTranslation } from "react-i18next";

import { Badge } from "@/components/ui/Badge";
import { Tabs } from "@/components/ui/Tabs";
import { formatNumber } from "@/lib/format";

import { ColumnList } from "./ColumnList";
import { FirstRows } from "./FirstRows";
import type { SourceTable } from "./queries";

interface TablePanelProps {
  sourceId: string;
  table: SourceTable;
  dialect: string;
}

export function TablePanel({ sourceId, table, dialect }: TablePanelProps) {
  const { t } = useTranslation("data");
  return (
    <section aria-labelledby="table-name" className="grid min-w-0 content-start gap-3">
      <header>
        <h2 id="table-name" className="flex flex-wrap items-center gap-2 text-lg font-semibold">
          <span className="[overflow-wrap:anywhere]">{table.key}</span>
          {table.is_view && <Badge>{t("view")}</Badge>}
        </h2>
        <p className="text-sm text-muted">
          {table.row_count !== null &&
            `${t("rowCount", { count: table.row_count, number: formatNumber(table.row_count) })} · `}
          {t("columnCount", { count: table.columns.length })}
        </p>
        {table.comment && <p className="mt-1 text-sm">{table.comment}</p>}
      </header>
      <Tabs
        label={t("tableViews")}
        tabs={[
          {
            value: "columns",
            label: t("columns"),
            content: <ColumnList sourceId={sourceId} table={table} />,
          },
          {
            value: "rows",
            label: t("firstRows"),
            content: <FirstRows sourceId={sourceId} table={table} dialect={dialect} />,
          },
        ]}
      />
    </section>
  );
}
