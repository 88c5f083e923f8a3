/** How much of the user's storage is used. */

import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";

import { Card } from "@/components/ui/Page";
import { ErrorState, LoadingState } from "@/components/ui/States";
import { formatBytes } from "@/lib/format";

import { workspaceQuery } from "./queries";

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
