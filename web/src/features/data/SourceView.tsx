/** One data source: its tables to choose from, and what can be done with it. */

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useLocation, useNavigate } from "@tanstack/react-router";
import { ArrowLeft, MessageSquareText, RefreshCw, Table2, Trash2 } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";

import { useMe, type Me } from "@/api/queries";
import { Button } from "@/components/ui/Button";
import { ConfirmDialog } from "@/components/ui/Dialog";
import { Input } from "@/components/ui/Field";
import { Page } from "@/components/ui/Page";
import { EmptyState, ErrorState, LoadingState } from "@/components/ui/States";
import { toast } from "@/components/ui/toast";
import { classes } from "@/lib/classes";
import { useErrorText } from "@/lib/errorText";
import { formatDateTime, formatNumber } from "@/lib/format";

import {
  catalogueQuery,
  deleteSource,
  refreshSource,
  type Catalogue,
  type Source,
  type SourceTable,
} from "./queries";
import { SourceBadges, SourceNotes } from "./SourceNotes";
import { TablePanel } from "./TablePanel";
import { useAskAbout } from "./useAskAbout";

/** One source: its notes, its tables, the table that is chosen by the address. */
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

interface TableNavProps {
  sourceId: string;
  tables: SourceTable[];
  chosen: string | null;
  className?: string;
}

const WORTH_FILTERING = 12;

/** The tables of a source, to choose one. */
function TableNav({ sourceId, tables, chosen, className }: TableNavProps) {
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

/** What can be done with a source: ask about it, look at it anew, delete one's own. */
function SourceActions({ source }: { source: Source }) {
  const { t } = useTranslation("data");
  const me = useMe();
  const askAbout = useAskAbout();
  return (
    <>
      {mayDelete(source) && <DeleteButton source={source} />}
      {mayRefresh(me) && <RefreshSource source={source} />}
      <Button variant="primary" onClick={() => askAbout(source.name)}>
        <MessageSquareText className="size-4" aria-hidden />
        {t("ask")}
      </Button>
    </>
  );
}

function RefreshSource({ source }: { source: Source }) {
  const { t } = useTranslation("data");
  const client = useQueryClient();
  const errorText = useErrorText();
  const refresh = useMutation({
    mutationFn: () => refreshSource(source.source_id),
    onSuccess: async (summary) => {
      await client.invalidateQueries({ queryKey: ["sources", source.source_id] });
      if (summary.problem === null) toast(t("refreshed"));
    },
    onError: (error) => toast(errorText(error), { tone: "danger" }),
  });
  return (
    <Button isBusy={refresh.isPending} onClick={() => refresh.mutate()}>
      {!refresh.isPending && <RefreshCw className="size-4" aria-hidden />}
      {t("refresh", { ns: "common" })}
    </Button>
  );
}

function DeleteButton({ source }: { source: Source }) {
  const { t } = useTranslation("data");
  const [isAsking, setIsAsking] = useState(false);
  const client = useQueryClient();
  const navigate = useNavigate();
  const errorText = useErrorText();
  const remove = useMutation({
    mutationFn: () => deleteSource(source.source_id),
    onSuccess: async () => {
      await navigate({ to: "/data" });
      toast(t("deleted", { name: source.name }));
      await client.invalidateQueries({ queryKey: ["sources"] });
    },
    onError: (error) => {
      setIsAsking(false);
      toast(errorText(error), { tone: "danger" });
    },
  });
  return (
    <>
      <Button variant="danger" onClick={() => setIsAsking(true)}>
        <Trash2 className="size-4" aria-hidden />
        {t("delete", { ns: "common" })}
      </Button>
      <ConfirmDialog
        isOpen={isAsking}
        title={t("deleteTitle", { name: source.name })}
        text={t("deleteText")}
        confirm={t("delete", { ns: "common" })}
        isBusy={remove.isPending}
        onConfirm={() => remove.mutate()}
        onClose={() => setIsAsking(false)}
      />
    </>
  );
}

/** Whether the user made it of their own files. */
function mayDelete(source: Source): boolean {
  return source.kind === "files" && !source.is_from_config && source.is_own;
}

function mayRefresh(me: Me | undefined): boolean {
  return me?.role === "admin";
}
