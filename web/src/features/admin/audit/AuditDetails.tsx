/** All that the audit log has of one thing that happened. */

import { useTranslation } from "react-i18next";

import { CodeBlock } from "@/components/CodeBlock";
import { Badge } from "@/components/ui/Badge";
import { Dialog } from "@/components/ui/Dialog";
import { formatDateTime } from "@/lib/format";

import { Facts, type Fact } from "../parts/Facts";
import { useNameOf } from "../parts/people";
import type { AuditRow } from "./AuditSection";
import { OUTCOME_TONES } from "./AuditTable";

interface AuditDetailsProps {
  row: AuditRow;
  onClose: () => void;
}

const IDS = ["via", "address", "target", "request_id", "session_id", "run_id"] as const;

export function AuditDetails({ row, onClose }: AuditDetailsProps) {
  const { t } = useTranslation("admin");
  const nameOf = useNameOf();
  const who = row.user_id === null ? "–" : `${nameOf(row.user_id)} (${row.user_id})`;
  const facts: Fact[] = [
    { name: t("audit.when"), value: formatDateTime(row.at) },
    { name: t("audit.who"), value: who },
    {
      name: t("audit.outcome"),
      value: <Badge tone={OUTCOME_TONES[row.outcome]}>{t(`audit.outcomes.${row.outcome}`)}</Badge>,
    },
    ...IDS.flatMap((field): Fact[] => {
      const value = row[field];
      return value === null ? [] : [{ name: t(`audit.fields.${field}`), value }];
    }),
    { name: t("audit.fields.hash"), value: <code className="text-xs break-all">{row.hash}</code> },
    {
      name: t("audit.fields.previousHash"),
      value: <code className="text-xs break-all">{row.previous_hash}</code>,
    },
  ];
  return (
    <Dialog
      isOpen
      onClose={onClose}
      title={t("audit.rowTitle", { action: row.action, position: row.position })}
      width="wide"
    >
      <div className="grid gap-4 pb-3">
        <Facts facts={facts} />
        <CodeBlock
          code={JSON.stringify(row.details, null, 2)}
          language="json"
          label={t("audit.details")}
        />
      </div>
    </Dialog>
  );
}
