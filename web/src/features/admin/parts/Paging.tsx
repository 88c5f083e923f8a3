/**
 * Forward and back through a long list, and where one is; back by itself from a page that is gone.
 */

import { ChevronLeft, ChevronRight } from "lucide-react";
import { useEffect } from "react";
import { useTranslation } from "react-i18next";

import { IconButton } from "@/components/ui/IconButton";
import { formatNumber } from "@/lib/format";

interface PagingProps {
  offset: number;
  pageSize: number;
  total: number;
  onChange: (offset: number) => void;
}

export function Paging({ offset, pageSize, total, onChange }: PagingProps) {
  const { t } = useTranslation("admin");
  const lastOffset = Math.max(0, Math.ceil(total / pageSize) - 1) * pageSize;
  const isGone = offset > lastOffset;
  useEffect(() => {
    if (isGone) onChange(lastOffset);
  }, [isGone, lastOffset, onChange]);
  if (total === 0) return null;
  const last = Math.min(offset + pageSize, total);
  return (
    <nav aria-label={t("paging.label")} className="flex items-center justify-end gap-1 text-sm">
      <span className="mr-2 text-muted" aria-live="polite">
        {t("paging.position", {
          first: formatNumber(Math.min(offset + 1, total)),
          last: formatNumber(last),
          total: formatNumber(total),
        })}
      </span>
      <IconButton
        icon={ChevronLeft}
        label={t("paging.previous")}
        disabled={offset === 0}
        onClick={() => onChange(Math.max(0, offset - pageSize))}
        isSmall
      />
      <IconButton
        icon={ChevronRight}
        label={t("paging.next")}
        disabled={last >= total}
        onClick={() => onChange(offset + pageSize)}
        isSmall
      />
    </nav>
  );
}
