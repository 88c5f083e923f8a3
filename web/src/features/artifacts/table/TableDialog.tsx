/** The whole of a result in a window: every row, sorted as wished, and what it rests on. */

import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";

import { Banner } from "@/components/ui/Banner";
import { Dialog } from "@/components/ui/Dialog";
import { LoadingState } from "@/components/ui/States";
import { formatNumber } from "@/lib/format";

import { rowsQuery, type Artifact, type Sort } from "../queries";
import { ReceiptPanel } from "../ReceiptPanel";
import { DownloadMenu, Gone, ShowSql } from "../ResultCard";
import { Grid } from "./Grid";
import { MAX_ROWS } from "./paging";
import { RowsNote } from "./SmallTable";

export interface TableDialogProps {
  artifactId: string;
  title: string;
  isOpen: boolean;
  onClose: () => void;
}

const SAMPLE_ROWS = 200;

export function TableDialog({ artifactId, title, isOpen, onClose }: TableDialogProps) {
  const query = useQuery({ ...rowsQuery(artifactId, 0, SAMPLE_ROWS), enabled: isOpen });
  return (
    <Dialog isOpen={isOpen} onClose={onClose} title={title} width="full">
      <div className="flex h-full min-h-0 flex-col gap-2 pb-2">
        {query.isLoading && <LoadingState lines={8} />}
        {query.error && <Gone error={query.error} onRetry={() => void query.refetch()} />}
        {query.data && <WholeTable artifact={query.data} />}
      </div>
    </Dialog>
  );
}

function WholeTable({ artifact }: { artifact: Artifact }) {
  const { t } = useTranslation("results");
  const [sort, setSort] = useState<Sort | null>(null);
  const [isSqlShown, setIsSqlShown] = useState(false);
  const { receipt } = artifact;
  return (
    <>
      <div className="flex flex-wrap items-center gap-2">
        <div className="min-w-40 flex-1">
          <RowsNote rowCount={artifact.row_count} truncatedBy={receipt?.truncated_by ?? null} />
          <p className="text-xs text-muted" aria-live="polite">
            {sort
              ? t(sort.isDescending ? "sortedDown" : "sortedUp", { column: sort.column })
              : t("gridHint")}
          </p>
        </div>
        {receipt && <ShowSql isShown={isSqlShown} onChange={setIsSqlShown} />}
        <DownloadMenu tableId={artifact.artifact_id} />
      </div>
      {isSqlShown && receipt && (
        <div className="max-h-[45%] shrink-0 overflow-auto rounded-lg border border-line p-3">
          <ReceiptPanel receipt={receipt} />
        </div>
      )}
      {artifact.row_count > MAX_ROWS && (
        <Banner>{t("tooManyRows", { number: formatNumber(MAX_ROWS) })}</Banner>
      )}
      <Grid
        artifactId={artifact.artifact_id}
        label={artifact.title}
        columns={artifact.columns}
        total={artifact.row_count}
        samples={artifact.page?.rows ?? []}
        sort={sort}
        onSort={setSort}
      />
    </>
  );
}
