/** The tables of a source, to choose one. */

import { Link } from "@tanstack/react-router";
import { Table2 } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";

import { Input } from "@/components/ui/Field";
import { classes } from "@/lib/classes";
import { formatNumber } from "@/lib/format";

import type { SourceTable } from "./queries";

interface TableNavProps {
  sourceId: string;
  tables: SourceTable[];
  chosen: string | null;
  className?: string;
}

const WORTH_FILTERING = 12;

export function TableNav({ sourceId, tables, chosen, className }: TableNavProps) {
  const { t } = useTranslation("data");
  const [filter, setFilter] = useState("");
  const sought = filter.trim().toLowerCase();
  const shown = tables.filter((table) => table.key.toLowerCase().includes(sought));
  return (
    <nav aria-label={t("tables")} className={classes("min-w-0", className)}>
      {tables.length >= WORTH_FILTERING && (
        <Input
          type="search"
          aria-label={t("filterTables")}
          placeholder={t("filterTables")}
          value={filter}
          onChange={(event) => setFilter(event.target.value)}
          className="mb-2"
        />
      )}
      <ul className="grid gap-0.5">
        {shown.map((table) => (
          <li key={table.key}>
            <Link
              to="/data/$sourceId"
              params={{ sourceId }}
              hash={encodeURIComponent(table.key)}
              aria-current={table.key === chosen ? "true" : undefined}
              className={classes(
                "flex items-center gap-2 rounded-lg px-2.5 py-1.5 text-sm hover:bg-sunken",
                table.key === chosen && "bg-accent-soft font-medium hover:bg-accent-soft",
              )}
            >
              <Table2 className="size-4 shrink-0 text-muted" aria-hidden />
              <span className="min-w-0 flex-1 truncate" title={table.key}>
                {table.key}
              </span>
              {table.row_count !== null && (
                <span className="text-xs text-muted tabular-nums">
                  {formatNumber(table.row_count)}
                </span>
              )}
            </Link>
          </li>
        ))}
      </ul>
    </nav>
  );
}
