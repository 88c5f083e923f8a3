/** The data sources, and a search in all of them. */

import { useQueries, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Database, FileSpreadsheet, SearchX, Table2, Upload } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";

import { sourcesQuery } from "@/api/queries";
import { Banner } from "@/components/ui/Banner";
import { Button } from "@/components/ui/Button";
import { Input } from "@/components/ui/Field";
import { Page } from "@/components/ui/Page";
import { EmptyState, ErrorState, LoadingState } from "@/components/ui/States";
import { useErrorText } from "@/lib/errorText";
import { useSettled } from "@/lib/useSettled";

import { catalogueQuery, type Source } from "./queries";
import { foundIn, type Found } from "./search";
import { SourceBadges } from "./SourceNotes";
import { UploadDialog } from "./UploadDialog";

const TYPING_MS = 250;

/** All sources, a search over their tables and columns, and the way to bring one's own. */
export function SourcesView() {
  const { t } = useTranslation("data");
  const sources = useQuery(sourcesQuery).data?.items;
  const [isUploading, setIsUploading] = useState(false);
  const [typed, setTyped] = useState("");
  const settled = useSettled(typed.trim(), TYPING_MS);
  const words = typed.trim() === "" ? "" : settled; // all sources are back at once
  return (
    <Page
      title={t("title")}
      text={t("text")}
      actions={
        <Button variant="primary" onClick={() => setIsUploading(true)}>
          <Upload className="size-4" aria-hidden />
          {t("upload")}
        </Button>
      }
    >
      <Input
        type="search"
        aria-label={t("searchAll")}
        placeholder={t("searchAll")}
        maxLength={500}
        value={typed}
        onChange={(event) => setTyped(event.target.value)}
      />
      {words !== "" && sources ? <SearchResults sources={sources} words={words} /> : <SourceList />}
      <UploadDialog isOpen={isUploading} onClose={() => setIsUploading(false)} />
    </Page>
  );
}

/** The sources the user may read. */
function SourceList() {
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

/** Tables and columns that fit some words, in one source or in all. */
function SearchResults({ sources, words }: { sources: Source[]; words: string }) {
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
