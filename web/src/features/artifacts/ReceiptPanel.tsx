/** What a result rests on: its source, the statements, the rules that held, when and how long. */

import { useTranslation } from "react-i18next";

import { CodeBlock } from "@/components/CodeBlock";
import { formatDateTime, formatDuration, formatNumber } from "@/lib/format";

import type { Receipt } from "./previews";

export function ReceiptPanel({ receipt }: { receipt: Receipt }) {
  const { t } = useTranslation("results");
  const facts: [string, string][] = [
    [t("receipt.source"), receipt.source_name],
    [t("receipt.rows"), formatNumber(receipt.row_count)],
    [t("receipt.ran"), receipt.executed_at ? formatDateTime(receipt.executed_at) : ""],
    [t("receipt.took"), formatDuration(receipt.duration_ms / 1000)],
    [t("receipt.timeZone"), receipt.time_zone],
    [t("receipt.complete"), t(`cut.${receipt.truncated_by ?? "none"}`)],
  ];
  const isSame = receipt.sql.trim() === receipt.sql_executed.trim();
  return (
    <section aria-label={t("receipt.title")} className="grid min-w-0 gap-3">
      <dl className="grid grid-cols-[repeat(auto-fill,minmax(9rem,1fr))] gap-x-4 gap-y-2 text-sm">
        {facts.map(([name, value]) => (
          <div key={name} className="min-w-0">
            <dt className="text-xs text-muted">{name}</dt>
            <dd className="[overflow-wrap:anywhere]">{value}</dd>
          </div>
        ))}
      </dl>
      <Policies policies={receipt.policy} />
      {receipt.warnings.length > 0 && <Warnings warnings={receipt.warnings} />}
      {!isSame && <CodeBlock code={receipt.sql} language="sql" label={t("receipt.asked")} />}
      <CodeBlock code={receipt.sql_executed} language="sql" label={t("receipt.executed")} />
    </section>
  );
}

function Warnings({ warnings }: { warnings: string[] }) {
  const { t } = useTranslation("results");
  return (
    <div className="text-sm">
      <h4 className="text-xs text-muted">{t("receipt.warnings")}</h4>
      <ul className="list-disc pl-5 text-warn">
        {warnings.map((warning) => (
          <li key={warning}>{warning}</li>
        ))}
      </ul>
    </div>
  );
}

function Policies({ policies }: { policies: string[] }) {
  const { t } = useTranslation("results");
  return (
    <div className="text-sm">
      <h4 className="text-xs text-muted">{t("receipt.policies")}</h4>
      {policies.length === 0 && <p>{t("receipt.noPolicies")}</p>}
      <ul className="list-disc pl-5">
        {policies.map((policy) => (
          <li key={policy}>{policy}</li>
        ))}
      </ul>
    </div>
  );
}
