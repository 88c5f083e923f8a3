/** The first rows of the table that a chart draws, with what they rest on. */

import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";

import { Button } from "@/components/ui/Button";
import { LoadingState } from "@/components/ui/States";

import { Gone } from "../Gone";
import { rowsQuery } from "../queries";
import { RowsNote } from "../table/RowsNote";
import { SmallTable } from "../table/SmallTable";
import { TableViewer } from "../table/TableViewer";

const FIRST_ROWS = 10;

export function TableOfChart({ tableId, title }: { tableId: string; title: string }) {
  const { t } = useTranslation("results");
  const [isOpen, setIsOpen] = useState(false);
  const query = useQuery(rowsQuery(tableId, 0, FIRST_ROWS));
  const table = query.data;
  return (
    <div className="grid min-w-0 gap-1 py-2">
      {query.isLoading && <LoadingState lines={5} />}
      {query.error && (
        <div className="px-3">
          <Gone error={query.error} onRetry={() => void query.refetch()} />
        </div>
      )}
      {table && (
        <SmallTable
          label={t("firstRowsOf", { title })}
          columns={table.columns}
          rows={table.page?.rows ?? []}
        />
      )}
      {table && (
        <div className="flex items-center justify-between gap-2 px-3">
          <RowsNote rowCount={table.row_count} truncatedBy={table.receipt?.truncated_by ?? null} />
          <Button size="small" onClick={() => setIsOpen(true)}>
            {t("open")}
          </Button>
        </div>
      )}
      <TableViewer
        artifactId={tableId}
        title={title}
        isOpen={isOpen}
        onClose={() => setIsOpen(false)}
      />
    </div>
  );
}
