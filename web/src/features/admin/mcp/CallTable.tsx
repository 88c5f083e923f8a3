/** Calls, the newest first. */

import { useTranslation } from "react-i18next";

import { Badge } from "@/components/ui/Badge";
import { Button } from "@/components/ui/Button";
import { Table, type Column } from "@/components/ui/Table";
import { formatDateTime, formatDuration } from "@/lib/format";

import { useNameOf } from "../parts/people";
import { CALL_TONES, useCallNames } from "./callWords";
import type { McpCall } from "./queries";

interface CallTableProps {
  calls: McpCall[];
  onOpen: (call: McpCall) => void;
}

export function CallTable({ calls, onOpen }: CallTableProps) {
  const { t } = useTranslation("mcpAdmin");
  const names = useCallNames();
  const nameOf = useNameOf();
  const columns: Column<McpCall>[] = [
    { header: t("calls.when"), cell: (call) => formatDateTime(call.started_at), isMinor: true },
    {
      header: t("calls.tool"),
      cell: (call) => (
        <>
          <code className="text-[13px] [overflow-wrap:anywhere]">{call.tool_name}</code>
          <p className="text-xs text-muted">{names.server(call.server_id)}</p>
        </>
      ),
    },
    {
      header: t("calls.status"),
      cell: (call) => (
        <Badge tone={CALL_TONES[call.status]}>{t(`calls.statuses.${call.status}`)}</Badge>
      ),
    },
    { header: t("calls.user"), cell: (call) => nameOf(call.user_id), isMinor: true },
    { header: t("calls.agent"), cell: (call) => names.agent(call.agent_id), isMinor: true },
    {
      header: t("calls.duration"),
      isRight: true,
      isMinor: true,
      cell: (call) => (call.duration_ms === null ? "–" : formatDuration(call.duration_ms / 1000)),
    },
    {
      header: t("calls.details"),
      isRight: true,
      cell: (call) => (
        <Button
          size="small"
          aria-label={t("calls.detailsOf", { name: call.tool_name })}
          onClick={() => onOpen(call)}
        >
          {t("calls.details")}
        </Button>
      ),
    },
  ];
  return (
    <Table
      label={t("calls.title")}
      columns={columns}
      rows={calls}
      rowKey={(call) => call.call_id}
    />
  );
}
