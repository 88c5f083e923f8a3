/** How many rows there are, and whether the source had more. */

import { useTranslation } from "react-i18next";

import { formatNumber } from "@/lib/format";

interface RowsNoteProps {
  rowCount: number;
  truncatedBy: "rows" | "bytes" | "time" | null;
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
