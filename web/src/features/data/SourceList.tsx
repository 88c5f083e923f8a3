/** The sources the user may read. */

import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Database, FileSpreadsheet } from "lucide-react";
import { useTranslation } from "react-i18next";

import { sourcesQuery } from "@/api/queries";
import { EmptyState, ErrorState, LoadingState } from "@/components/ui/States";

import type { Source } from "./queries";
import { SourceBadges } from "./SourceBadges";

export function SourceList() {
  const { t } = useTranslation("data");
  const query = useQuery(sourcesQuery);
  if (query.isPending) return <LoadingState lines={6} />;
  if (query.error) return <ErrorState error={query.error} onRetry={() => void query.refetch()} />;
  const sources = query.data.items;
  if (sources.length === 0) {
    return <EmptyState icon={Database} title={t("noSources")} text={t("noSourcesText")} />;
  }
  return (
    <ul aria-label={t("sources")} className="grid gap-3 sm:grid-cols-2 lg:grid-cols-3">
      {sources.map((source) => (
        <li key={source.source_id}>
          <SourceTile source={source} />
        </li>
      ))}
    </ul>
  );
}

function SourceTile({ source }: { source: Source }) {
  const { t } = useTranslation("data");
  const Icon = source.kind === "files" ? FileSpreadsheet : Database;
  return (
    <Link
      to="/data/$sourceId"
      params={{ sourceId: source.source_id }}
      className="flex h-full flex-col gap-2 rounded-xl border border-line bg-raised p-4 hover:border-line-strong hover:bg-sunken/50"
    >
      <span className="flex items-center gap-2 font-medium">
        <Icon className="size-4 shrink-0 text-muted" aria-hidden />
        <span className="[overflow-wrap:anywhere]">{source.name}</span>
      </span>
      <span className="line-clamp-3 flex-1 text-sm text-muted">
        {source.description || t("noDescription")}
      </span>
      <SourceBadges source={source} />
    </Link>
  );
}
