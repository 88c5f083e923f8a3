/** The data page: all sources, or the one in the address. */

import { useQuery } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import { DatabaseZap } from "lucide-react";
import { useTranslation } from "react-i18next";

import { sourcesQuery } from "@/api/queries";
import { EmptyState, ErrorState, LoadingState } from "@/components/ui/States";
import { SourcesView } from "@/features/data/SourcesView";
import { SourceView } from "@/features/data/SourceView";

export function DataPage() {
  const { sourceId } = useParams({ strict: false });
  return sourceId === undefined ? <SourcesView /> : <OneSource sourceId={sourceId} />;
}

function OneSource({ sourceId }: { sourceId: string }) {
  const { t } = useTranslation("data");
  const query = useQuery(sourcesQuery);
  if (query.isPending) return <LoadingState lines={8} />;
  if (query.error) return <ErrorState error={query.error} onRetry={() => void query.refetch()} />;
  const source = query.data.items.find(
    (each) => each.source_id === sourceId || each.name === sourceId,
  );
  if (source) return <SourceView source={source} />;
  return (
    <EmptyState
      icon={DatabaseZap}
      title={t("noSuchSource")}
      text={t("noSuchSourceText")}
      action={
        <Link to="/data" className="text-accent hover:underline">
          {t("allSources")}
        </Link>
      }
    />
  );
}
