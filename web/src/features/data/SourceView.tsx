/** One source: its notes, its tables, the table that is chosen by the address. */

import { useQuery } from "@tanstack/react-query";
import { Link, useLocation } from "@tanstack/react-router";
import { ArrowLeft, Table2 } from "lucide-react";
import { useTranslation } from "react-i18next";

import { Page } from "@/components/ui/Page";
import { EmptyState, ErrorState, LoadingState } from "@/components/ui/States";
import { classes } from "@/lib/classes";
import { formatDateTime } from "@/lib/format";

import { catalogueQuery, type Catalogue, type Source } from "./queries";
import { SourceActions } from "./SourceActions";
import { SourceBadges } from "./SourceBadges";
import { SourceNotes } from "./SourceNotes";
import { TableNav } from "./TableNav";
import { TablePanel } from "./TablePanel";

export function SourceView({ source }: { source: Source }) {
  const { t } = useTranslation("data");
  const query = useQuery(catalogueQuery(source.source_id));
  return (
    <>
      <div className="mx-auto w-full max-w-6xl px-4 pt-4 -mb-3 md:px-8">
        <Link
          to="/data"
          className="inline-flex items-center gap-1.5 text-sm text-accent hover:underline"
        >
          <ArrowLeft className="size-4" aria-hidden />
          {t("allSources")}
        </Link>
      </div>
      <Page
        title={source.name}
        actions={<SourceActions source={source} />}
        text={
          <div className="grid gap-2">
            {source.description && <p>{source.description}</p>}
            <SourceBadges source={source} />
            {query.data && (
              <p className="text-xs">
                {t("freshAt", { when: formatDateTime(query.data.refreshed_at) })}
              </p>
            )}
          </div>
        }
      >
        {query.isPending && <LoadingState lines={8} />}
        {query.error && <ErrorState error={query.error} onRetry={() => void query.refetch()} />}
        {query.data && <SourceNotes catalogue={query.data} />}
        {query.data && <Tables source={source} catalogue={query.data} />}
      </Page>
    </>
  );
}

function Tables({ source, catalogue }: { source: Source; catalogue: Catalogue }) {
  const { t } = useTranslation("data");
  const hash = useLocation({ select: (location) => location.hash });
  const named = catalogue.tables.find((table) => table.key === decoded(hash));
  const [first] = catalogue.tables;
  const chosen = named ?? first;
  if (!chosen) return <EmptyState icon={Table2} title={t("noTables")} text={t("noTablesText")} />;
  return (
    <div className="grid min-w-0 gap-6 md:grid-cols-[15rem_minmax(0,1fr)]">
      <TableNav
        sourceId={source.source_id}
        tables={catalogue.tables}
        chosen={chosen.key}
        className={classes(named && "hidden md:block")}
      />
      <div className={classes("min-w-0", !named && "hidden md:block")}>
        <Link
          to="/data/$sourceId"
          params={{ sourceId: source.source_id }}
          className="mb-3 flex items-center gap-1.5 text-sm text-accent hover:underline md:hidden"
        >
          <ArrowLeft className="size-4" aria-hidden />
          {t("allTables")}
        </Link>
        <TablePanel
          key={chosen.key}
          sourceId={source.source_id}
          table={chosen}
          dialect={catalogue.dialect}
        />
      </div>
    </div>
  );
}

/** A hash that someone typed need not be well-formed. */
function decoded(hash: string): string {
  try {
    return decodeURIComponent(hash);
  } catch {
    return hash;
  }
}
