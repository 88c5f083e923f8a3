/** The tables a user may see of a source, each with its columns. */

import { useTranslation } from "react-i18next";

import type { Schemas } from "@/api/client";
import { Card } from "@/components/ui/Page";
import { formatNumber } from "@/lib/format";

interface VisibleTablesProps {
  tables: Schemas["TableInfo"][];
  name: string;
}

export function VisibleTables({ tables, name }: VisibleTablesProps) {
  const { t } = useTranslation("admin");
  return (
    <Card
      title={t("policies.viewAs.tables", {
        name,
        count: tables.length,
        tables: formatNumber(tables.length),
      })}
    >
      <ul className="max-h-96 divide-y divide-line overflow-y-auto text-sm">
        {tables.map((table) => (
          <li key={table.key}>
            <details className="py-1.5">
              <summary>
                <span className="font-medium">{table.key}</span>{" "}
                <span className="text-muted">
                  {t("policies.viewAs.columns", { count: table.columns.length })}
                </span>
              </summary>
              <p className="mt-1 pl-4 [overflow-wrap:anywhere] text-muted">
                {table.columns.map((column) => column.name).join(", ")}
              </p>
            </details>
          </li>
        ))}
      </ul>
    </Card>
  );
}
