/** What the user has used: tokens, and space of the workspace. */

import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";

import type { Schemas } from "@/api/client";
import { Card } from "@/components/ui/Page";
import { ErrorState, LoadingState } from "@/components/ui/States";
import { formatBytes, formatDay, formatDuration, formatNumber } from "@/lib/format";

import { ownUsageQuery, workspaceQuery } from "./queries";
import { daysBack, totalOf } from "./usage";

const DAYS = 30;

/** What the user has asked in the last weeks. */
export function OwnUsage() {
  const { t } = useTranslation("settings");
  const usage = useQuery(ownUsageQuery(DAYS));
  return (
    <Card title={t("usage.title")}>
      {usage.isPending && <LoadingState lines={3} />}
      {usage.isError && <ErrorState error={usage.error} onRetry={() => void usage.refetch()} />}
      {usage.data?.items.length === 0 && <p className="text-sm">{t("usage.empty")}</p>}
      {usage.data && usage.data.items.length > 0 && <UsageFigures days={usage.data.items} />}
    </Card>
  );
}

function UsageFigures({ days }: { days: Schemas["DayUsageInfo"][] }) {
  const { t } = useTranslation("settings");
  const total = totalOf(days);
  const bars = daysBack(days, DAYS, new Date());
  const most = Math.max(...bars.map((bar) => bar.runs), 1);
  const lines = [
    [t("usage.runs"), formatNumber(total.runs)],
    [t("usage.tokens"), formatNumber(total.tokens)],
    [t("usage.tools"), formatNumber(total.toolCalls)],
    [t("usage.time"), formatDuration(total.seconds)],
  ] as const;
  return (
    <div className="grid gap-4 text-sm">
      <div role="img" aria-label={t("usage.perDay")} className="flex h-16 items-end gap-0.5">
        {bars.map((bar) => (
          <div
            key={bar.day}
            title={`${formatDay(bar.day)}: ${formatNumber(bar.runs)}`}
            className={`min-h-px flex-1 rounded-t-sm ${bar.runs > 0 ? "bg-accent" : "bg-line-strong"}`}
            style={{ height: `${(bar.runs / most) * 100}%` }}
          />
        ))}
      </div>
      <dl className="grid gap-1.5">
        {lines.map(([label, value]) => (
          <div key={label} className="flex justify-between gap-4">
            <dt className="text-muted">{label}</dt>
            <dd className="tabular-nums">{value}</dd>
          </div>
        ))}
      </dl>
    </div>
  );
}

/** How much of the user's storage is used. */
export function WorkspaceUse({ userId }: { userId: string }) {
  const { t } = useTranslation("settings");
  const workspace = useQuery(workspaceQuery(userId));
  return (
    <Card title={t("workspace.title")}>
      {workspace.isPending && <LoadingState lines={1} />}
      {workspace.isError && (
        <ErrorState error={workspace.error} onRetry={() => void workspace.refetch()} />
      )}
      {workspace.data && <Use {...workspace.data} />}
    </Card>
  );
}

interface UseProps {
  bytes_used: number;
  quota: number;
  files: number;
}

function Use({ bytes_used: usedBytes, quota: quotaBytes, files }: UseProps) {
  const { t } = useTranslation("settings");
  const used = formatBytes(usedBytes);
  const quota = formatBytes(quotaBytes);
  const isLimited = quotaBytes > 0;
  const text = isLimited
    ? t("workspace.used", { used, quota })
    : t("workspace.usedUnlimited", { used });
  return (
    <div className="grid gap-2 text-sm">
      {isLimited && (
        <meter
          className="h-2 w-full"
          min={0}
          max={quotaBytes}
          high={quotaBytes * 0.9}
          value={usedBytes}
          aria-label={t("workspace.title")}
        />
      )}
      <p>
        {text} · {t("workspace.files", { count: files })}
      </p>
    </div>
  );
}
