/** The columns of a table: names, types, keys, what they mean, a few values. */

import { Link } from "@tanstack/react-router";
import { KeyRound } from "lucide-react";
import { useTranslation } from "react-i18next";

import { Table, type Column } from "@/components/ui/Table";

import type { SourceTable } from "./queries";

type TableColumn = SourceTable["columns"][number];

interface ColumnListProps {
  sourceId: string;
  table: SourceTable;
}

export function ColumnList({ sourceId, table }: ColumnListProps) {
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
