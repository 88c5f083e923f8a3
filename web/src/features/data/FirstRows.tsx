/** A table's first rows, as the user may see them. */

import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";

import { Banner } from "@/components/ui/Banner";
import { ErrorState, LoadingState } from "@/components/ui/States";
import { SmallTable } from "@/features/artifacts/table/SmallTable";

import { firstRowsQuery, type SourceTable } from "./queries";

interface FirstRowsProps {
  sourceId: string;
  table: SourceTable;
  dialect: string;
}

export function FirstRows({ sourceId, table, dialect }: FirstRowsProps) {
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
