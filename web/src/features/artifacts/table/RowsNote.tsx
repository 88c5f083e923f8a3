/** How many rows there are, and whether the source had more. */

import { useTranslation } from "react-i18next";

import { formatNumber } from "@/lib/format";

import type { Receipt } from "../previews";

interface RowsNoteProps {
  rowCount: number;
  truncatedBy: Receipt["truncated_by"];
}

export function RowsNote({ rowCount, truncatedBy }: RowsNoteProps) {
  const { t } = useTranslation("results");
  return (
    <p className="text-xs text-muted">
      {t("rows", { count: rowCount, number: formatNumber(rowCount) })}
      {truncatedBy && <span className="font-medium text-warn"> · {t(`cut.${truncatedBy}`)}</span>}
    </p>
  );
}
