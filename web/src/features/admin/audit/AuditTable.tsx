/** Rows of the audit log, the newest first. */

import { Info } from "lucide-react";
import { useTranslation } from "react-i18next";

import { Badge, type Tone } from "@/components/ui/Badge";
import { IconButton } from "@/components/ui/IconButton";
import { Table, type Column } from "@/components/ui/Table";
import { formatDateTime } from "@/lib/format";

import { useNameOf } from "../parts/people";
import type { AuditRow } from "./AuditSection";

export const OUTCOME_TONES: Record<AuditRow["outcome"], Tone> = {
  success: "good",
  denied: "warn",
  failed: "danger",
};

interface AuditTableProps {
  rows: AuditRow[];
  onOpen: (row: AuditRow) => void;
}

export function AuditTable({ rows, onOpen }: AuditTableProps) {
  const { t } = useTranslation("admin");
  const nameOf = useNameOf();
  const columns: Column<AuditRow>[] = [
    {
      header: t("audit.when"),
      cell: (row) => <span className="whitespace-nowrap">{formatDateTime(row.at)}</span>,
    },
    { header: t("audit.who"), cell: (row) => (row.user_id === null ? "–" : nameOf(row.user_id)) },
    {
      header: t("audit.action"),
      cell: (row) => <code className="text-[13px] break-all">{row.action}</code>,
    },
    {
      header: t("audit.target"),
      isMinor: true,
      cell: (row) => (
        <span className="line-clamp-1 max-w-56 break-all" title={row.target ?? ""}>
          {row.target === null ? "" : nameOf(row.target)}
        </span>
      ),
    },
    {
      header: t("audit.outcome"),
      cell: (row) => (
        <Badge tone={OUTCOME_TONES[row.outcome]}>{t(`audit.outcomes.${row.outcome}`)}</Badge>
      ),
    },
    {
      header: t("audit.details"),
      isRight: true,
      cell: (row) => (
        <IconButton
          isSmall
          icon={Info}
          label={t("audit.detailsOf", { position: row.position })}
          onClick={() => onOpen(row)}
        />
      ),
    },
  ];
  return (
    <Table
      label={t("sections.audit")}
      columns={columns}
      rows={rows}
      rowKey={(row) => row.position}
    />
  );
}
