/** Tables and columns that fit some words, in one source or in all. */

import { useQueries } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { SearchX, Table2 } from "lucide-react";
import { useTranslation } from "react-i18next";

import { Banner } from "@/components/ui/Banner";
import { EmptyState, LoadingState } from "@/components/ui/States";
import { useErrorText } from "@/lib/errorText";

import { catalogueQuery, type Source } from "./queries";
import { foundIn, type Found } from "./search";

export function SearchResults({ sources, words }: { sources: Source[]; words: string }) {
  const { t } = useTranslation("data");
  const errorText = useErrorText();
  const queries = useQueries({
    queries: sources.map((source) => catalogueQuery(source.source_id, words)),
  });
  const found = sources
    .flatMap((source, at) => {
      const catalogue = queries[at]?.data;
      return catalogue ? foundIn(catalogue).map((each) => ({ source, ...each })) : [];
    })
    .sort((one, two) => two.score - one.score);
  const isLoading = queries.some((query) => query.isPending);
  return (
    <section
      aria-label={t("found")}
      aria-busy={isLoading}
      className="grid min-w-0 grid-cols-1 gap-2"
    >
      {sources.map((source, at) => {
        const error = queries[at]?.error;
        if (!error) return null;
        return (
          <Banner key={source.source_id} kind="warn">
            {t("notSearched", { name: source.name })} {errorText(error)}
          </Banner>
        );
      })}
      {found.length > 0 && (
        <ul className="divide-y divide-line rounded-xl border border-line bg-raised">
          {found.map(({ source, ...each }) => (
            <li key={`${source.source_id} ${each.table.key}`}>
              <Hit source={source} found={each} />
            </li>
          ))}
        </ul>
      )}
      {isLoading && <LoadingState lines={3} />}
      {!isLoading && found.length === 0 && (
        <EmptyState icon={SearchX} title={t("nothingFound")} text={t("nothingFoundText")} />
      )}
    </section>
  );
}

function Hit({ source, found }: { source: Source; found: Found }) {
  const { table, columns } = found;
  return (
    <Link
      to="/data/$sourceId"
      params={{ sourceId: source.source_id }}
      hash={encodeURIComponent(table.key)}
      className="flex gap-3 px-4 py-2.5 hover:bg-sunken/60"
    >
      <Table2 className="mt-1 size-4 shrink-0 text-muted" aria-hidden />
      <span className="min-w-0 flex-1">
        <span className="block font-medium [overflow-wrap:anywhere]">
          <span className="text-muted">{source.name} / </span>
          {table.key}
        </span>
        {table.comment && <span className="block text-sm text-muted">{table.comment}</span>}
        <span className="mt-0.5 block truncate font-mono text-xs text-muted">
          {columns.join(", ")}
        </span>
      </span>
    </Link>
  );
}
