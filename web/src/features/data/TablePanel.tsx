/** A table of a data source: its columns and its first rows. */

import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { KeyRound } from "lucide-react";
import { useTranslation } from "react-i18next";

import { Badge } from "@/components/ui/Badge";
import { Banner } from "@/components/ui/Banner";
import { ErrorState, LoadingState } from "@/components/ui/States";
import { Table, type Column } from "@/components/ui/Table";
import { Tabs } from "@/components/ui/Tabs";
import { SmallTable } from "@/features/artifacts/table/SmallTable";
import { formatNumber } from "@/lib/format";

import { firstRowsQuery, type SourceTable } from "./queries";

interface TablePanelProps {
  sourceId: string;
  table: SourceTable;
  dialect: string;
}

/** One table of a source: what it is, its columns, its first rows. */
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

type TableColumn = SourceTable["columns"][number];

interface ColumnListProps {
  sourceId: string;
  table: SourceTable;
}

/** The columns of a table: names, types, keys, what they mean, a few values. */
function ColumnList({ sourceId, table }: ColumnListProps) {
  const { t } = useTranslation("data");
  const columns: Column<TableColumn>[] = [
    {
      header: t("column"),
      cell: (column) => <ColumnName sourceId={sourceId} table={table} column={column} />,
    },
    { header: t("meaning"), cell: (column) => column.comment ?? "" },
    {
      header: t("examples"),
      isMinor: true,
      cell: (column) => (
        <span className="line-clamp-2 max-w-md text-muted [overflow-wrap:anywhere]">
          {column.samples.join(", ")}
          {column.are_samples_truncated && " …"}
        </span>
      ),
    },
  ];
  return (
    <Table
      label={t("columnsOf", { table: table.key })}
      columns={columns}
      rows={table.columns}
      rowKey={(column) => column.name}
    />
  );
}

function ColumnName({ sourceId, table, column }: ColumnListProps & { column: TableColumn }) {
  const { t } = useTranslation("data");
  const isKey = table.primary_key.includes(column.name);
  const pointers = table.foreign_keys.filter((key) => key.columns.includes(column.name));
  return (
    <div className="grid gap-0.5">
      <span className="flex items-center gap-1.5 font-medium [overflow-wrap:anywhere]">
        {column.name}
        {isKey && <KeyRound className="size-3.5 shrink-0 text-warn" aria-label={t("primaryKey")} />}
      </span>
      <span className="font-mono text-xs text-muted">
        {column.type}
        {!column.is_nullable && ` · ${t("required")}`}
      </span>
      {pointers.map((key) => (
        <Link
          key={key.target_table}
          to="/data/$sourceId"
          params={{ sourceId }}
          hash={encodeURIComponent(key.target_table)}
          className="text-xs text-accent hover:underline"
        >
          {t("pointsAt", {
            target: `${key.target_table}.${key.target_columns[key.columns.indexOf(column.name)] ?? ""}`,
          })}
        </Link>
      ))}
    </div>
  );
}

interface FirstRowsProps {
  sourceId: string;
  table: SourceTable;
  dialect: string;
}

/** A table's first rows, as the user may see them. */
function FirstRows({ sourceId, table, dialect }: FirstRowsProps) {
  const { t } = useTranslation("data");
  const query = useQuery(firstRowsQuery(sourceId, table, dialect));
  if (query.isPending) return <LoadingState lines={6} />;
  if (query.error) return <ErrorState error={query.error} onRetry={() => void query.refetch()} />;
  const { columns, rows, policy } = query.data;
  return (
    <div className="grid min-w-0 gap-2">
      {policy.length > 0 && (
        <Banner>
          {t("policies")} {policy.join(" ")}
        </Banner>
      )}
      <div className="min-w-0 overflow-hidden rounded-xl border border-line bg-raised">
        <SmallTable label={t("firstRowsOf", { table: table.key })} columns={columns} rows={rows} />
        {rows.length === 0 && <p className="px-3 py-4 text-sm text-muted">{t("emptyTable")}</p>}
      </div>
    </div>
  );
}
