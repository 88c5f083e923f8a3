/** What a data source is: where it lies, and when reading it stops. */

import { useTranslation } from "react-i18next";

import { Card } from "@/components/ui/Page";
import { formatBytes, formatDateTime, formatDuration, formatNumber } from "@/lib/format";

import { Facts, type Fact } from "../parts/Facts";
import type { Source } from "./queries";

export function SourceFacts({ source }: { source: Source }) {
  const { t } = useTranslation("admin");
  const { limits } = source;
  const kind = t(`sources.kinds.${source.kind}`);
  const facts: Fact[] = [
    {
      name: t("sources.kind"),
      value: source.dialect === null ? kind : `${kind} (${source.dialect})`,
    },
    ...(source.address
      ? [{ name: t("sources.address"), value: <code>{source.address}</code> }]
      : []),
    ...(source.folder ? [{ name: t("sources.folder"), value: <code>{source.folder}</code> }] : []),
    ...(source.files && source.files.length > 0
      ? [{ name: t("sources.files"), value: source.files.join(", ") }]
      : []),
    { name: t("sources.timeZone"), value: source.time_zone },
    {
      name: t("sources.defaultPolicy"),
      value: t(`sources.defaultPolicies.${source.default_policy}`),
    },
    {
      name: t("sources.limits"),
      value: t("sources.limitsShown", {
        rows: formatNumber(limits.max_rows),
        bytes: formatBytes(limits.max_bytes),
        seconds: formatDuration(limits.timeout_seconds),
      }),
    },
    { name: t("sources.updated"), value: formatDateTime(source.updated_at) },
  ];
  return (
    <Card>
      <Facts facts={facts} />
    </Card>
  );
}
