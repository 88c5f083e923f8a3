/** How fresh the list of tables is, what changed in it, and a way to look again. */

import { useQuery } from "@tanstack/react-query";
import { RefreshCw } from "lucide-react";
import { useTranslation } from "react-i18next";

import { api, call } from "@/api/client";
import { Banner } from "@/components/ui/Banner";
import { Button } from "@/components/ui/Button";
import { Card } from "@/components/ui/Page";
import { formatDateTime, formatNumber } from "@/lib/format";

import { useChange } from "../parts/change";
import { Loaded } from "../parts/Loaded";
import { Problem } from "../parts/Problem";
import { catalogueQuery, TOUCHED, type Source } from "./queries";

export function CatalogueCard({ source }: { source: Source }) {
  const { t } = useTranslation("admin");
  const catalogue = useQuery(catalogueQuery(source.source_id));
  const refresh = useChange(
    () => {
      const params = { path: { source_id: source.source_id } };
      return call(api.POST("/api/v1/data-sources/{source_id}/refresh", { params }));
    },
    { keys: TOUCHED },
  );
  return (
    <Card
      title={t("sources.catalogue.title")}
      actions={
        <Button size="small" isBusy={refresh.isPending} onClick={() => refresh.mutate(undefined)}>
          {!refresh.isPending && <RefreshCw className="size-4" aria-hidden />}
          {t("sources.catalogue.refresh")}
        </Button>
      }
    >
      <div className="grid gap-3 text-sm">
        <Problem error={refresh.error} />
        <Loaded query={catalogue} lines={2}>
          {(summary) => (
            <>
              <p>
                {t("sources.catalogue.state", {
                  count: summary.table_count,
                  tables: formatNumber(summary.table_count),
                  when: formatDateTime(summary.refreshed_at),
                })}
              </p>
              {summary.problem !== null && <Banner kind="danger">{summary.problem}</Banner>}
              <Lines
                title={driftTitle(t("sources.catalogue.drift"), summary.drifted_at)}
                lines={summary.drift}
              />
              <Lines title={t("sources.catalogue.leftOut")} lines={summary.left_out} />
              {summary.drift.length === 0 && (
                <p className="text-muted">{t("sources.catalogue.noDrift")}</p>
              )}
            </>
          )}
        </Loaded>
      </div>
    </Card>
  );
}

function driftTitle(title: string, at: string | null): string {
  return at === null ? title : `${title} (${formatDateTime(at)})`;
}

function Lines({ title, lines }: { title: string; lines: string[] }) {
  if (lines.length === 0) return null;
  return (
    <div>
      <div className="font-medium">{title}</div>
      <ul className="mt-1 max-h-60 list-disc overflow-y-auto pl-5 [overflow-wrap:anywhere]">
        {lines.map((line) => (
          <li key={line}>{line}</li>
        ))}
      </ul>
    </div>
  );
}
