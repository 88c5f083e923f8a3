/** A result's first rows at once, the whole of it on request, and what it rests on. */

import { useQuery } from "@tanstack/react-query";
import { Maximize2, Table2 } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";

import { Button } from "@/components/ui/Button";
import { LoadingState } from "@/components/ui/States";

import type { TablePreview } from "../previews";
import { rowsQuery } from "../queries";
import { ReceiptPanel } from "../ReceiptPanel";
import { DownloadMenu, Gone, ResultCard, ShowSql } from "../ResultCard";
import { RowsNote, SmallTable } from "./SmallTable";
import { TableViewer } from "./TableViewer";

interface TableCardProps {
  artifactId: string;
  title: string;
  /** null: it must be fetched. */
  preview: TablePreview | null;
}

const FIRST_ROWS = 8;

export function TableCard({ artifactId, title, preview }: TableCardProps) {
  const { t } = useTranslation("results");
  const [isOpen, setIsOpen] = useState(false);
  const [isSqlShown, setIsSqlShown] = useState(false);
  const query = useQuery({ ...rowsQuery(artifactId, 0, FIRST_ROWS), enabled: preview === null });
  const fetched = query.data;
  const columns = preview?.columns ?? fetched?.columns;
  const rows = (preview?.rows ?? fetched?.page?.rows)?.slice(0, FIRST_ROWS);
  const rowCount = preview?.rowCount ?? fetched?.row_count;
  const receipt = preview?.receipt ?? fetched?.receipt;
  const otherColumns = preview?.otherColumns ?? 0;
  const leftOut = [
    rows &&
      rowCount !== undefined &&
      rowCount > rows.length &&
      t("firstOf", { shown: rows.length, count: rowCount }),
    otherColumns > 0 && t("moreColumns", { count: otherColumns }),
  ].filter((each) => typeof each === "string");
  return (
    <ResultCard
      kind="table"
      icon={Table2}
      title={title}
      note={
        rowCount !== undefined && (
          <RowsNote rowCount={rowCount} truncatedBy={receipt?.truncated_by ?? null} />
        )
      }
      actions={
        <>
          {receipt && <ShowSql isShown={isSqlShown} onChange={setIsSqlShown} />}
          <DownloadMenu tableId={artifactId} />
          <Button size="small" onClick={() => setIsOpen(true)}>
            <Maximize2 className="size-3.5" aria-hidden />
            {t("open")}
          </Button>
        </>
      }
    >
      {columns && rows && (
        <SmallTable label={t("firstRowsOf", { title })} columns={columns} rows={rows} />
      )}
      {rows?.length === 0 && <p className="px-3 py-3 text-sm text-muted">{t("noRows")}</p>}
      {query.isLoading && <LoadingState lines={3} />}
      {query.error && (
        <div className="p-3">
          <Gone error={query.error} onRetry={() => void query.refetch()} />
        </div>
      )}
      {leftOut.length > 0 && (
        <p className="border-t border-line px-3 py-1.5 text-xs text-muted">{leftOut.join(" ")}</p>
      )}
      {isSqlShown && receipt && (
        <div className="border-t border-line p-3">
          <ReceiptPanel receipt={receipt} />
        </div>
      )}
      <TableViewer
        artifactId={artifactId}
        title={title}
        isOpen={isOpen}
        onClose={() => setIsOpen(false)}
      />
    </ResultCard>
  );
}
