/** What became of uploaded files: tables, and what was left out. */

import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { MessageSquareText } from "lucide-react";
import { useTranslation } from "react-i18next";

import { Banner } from "@/components/ui/Banner";
import { Button } from "@/components/ui/Button";
import { LoadingState } from "@/components/ui/States";
import { useErrorText } from "@/lib/errorText";
import { formatNumber } from "@/lib/format";

import { catalogueQuery, type Source, type SourceTable } from "./queries";
import { SourceNotes } from "./SourceNotes";
import { useAskAbout } from "./useAskAbout";

export function UploadDone({ source, onClose }: { source: Source; onClose: () => void }) {
  const { t } = useTranslation("data");
  const navigate = useNavigate();
  const askAbout = useAskAbout();
  const errorText = useErrorText();
  const query = useQuery(catalogueQuery(source.source_id));
  const look = () => {
    onClose();
    void navigate({ to: "/data/$sourceId", params: { sourceId: source.source_id } });
  };
  return (
    <div className="grid gap-3 pb-3 text-sm">
      <p>{t("uploadDoneText", { name: source.name })}</p>
      {query.isPending && <LoadingState lines={2} />}
      {query.error && <Banner kind="warn">{errorText(query.error)}</Banner>}
      {query.data && <Made tables={query.data.tables} />}
      {query.data && <SourceNotes catalogue={query.data} />}
      <div className="flex flex-wrap justify-end gap-2">
        <Button onClick={look}>{t("look")}</Button>
        <Button
          variant="primary"
          onClick={() => {
            onClose();
            askAbout(source.name);
          }}
        >
          <MessageSquareText className="size-4" aria-hidden />
          {t("ask")}
        </Button>
      </div>
    </div>
  );
}

function Made({ tables }: { tables: SourceTable[] }) {
  const { t } = useTranslation("data");
  return (
    <ul aria-label={t("tables")} className="grid gap-1">
      {tables.map((table) => (
        <li key={table.key} className="flex justify-between gap-3 rounded-lg bg-sunken px-3 py-1.5">
          <span className="font-medium [overflow-wrap:anywhere]">{table.key}</span>
          <span className="text-muted">
            {table.row_count !== null &&
              t("rowCount", { count: table.row_count, number: formatNumber(table.row_count) })}
          </span>
        </li>
      ))}
    </ul>
  );
}
