/** `/mcp-servers`: the user's MCP servers and those shared with them. */

import { useQuery } from "@tanstack/react-query";
import { Plug, Plus } from "lucide-react";
import { useTranslation } from "react-i18next";

import { ApiError } from "@/api/client";
import { meQuery } from "@/api/queries";
import { Button } from "@/components/ui/Button";
import { Page } from "@/components/ui/Page";
import { EmptyState, ErrorState, LoadingState } from "@/components/ui/States";
import { userServersQuery } from "@/features/mcp/queries";
import { ServerSections } from "@/features/mcp/ServerCard";
import { ServerDialogs, useServerActions } from "@/features/mcp/ServerDialogs";

/** Answers that mean: there is no such thing here. */
const NOT_OFFERED = new Set([404, 405, 501]);

export function McpPage() {
  const { t } = useTranslation("mcp");
  const me = useQuery(meQuery);
  if (me.isError)
    return (
      <Page title={t("title")}>
        <ErrorState error={me.error} onRetry={() => void me.refetch()} />
      </Page>
    );
  if (!me.data)
    return (
      <Page title={t("title")}>
        <LoadingState />
      </Page>
    );
  return <UserServers userId={me.data.id} />;
}

function UserServers({ userId }: { userId: string }) {
  const { t } = useTranslation("mcp");
  const { data, error, isPending, refetch } = useQuery(userServersQuery(userId));
  const actions = useServerActions(userId);
  if (error instanceof ApiError && NOT_OFFERED.has(error.status) && !data)
    return (
      <Page title={t("title")}>
        <EmptyState icon={Plug} title={t("unavailable")} text={t("unavailableText")} />
      </Page>
    );
  return (
    <Page
      title={t("title")}
      text={t("text")}
      actions={
        <Button variant="primary" onClick={() => actions.open({ dialog: "add" })}>
          <Plus className="size-4" aria-hidden />
          {t("add")}
        </Button>
      }
    >
      {isPending && <LoadingState />}
      {error !== null && !data && <ErrorState error={error} onRetry={() => void refetch()} />}
      {data && <ServerSections servers={data.items} actions={actions} />}
      <ServerDialogs userId={userId} actions={actions} />
    </Page>
  );
}
