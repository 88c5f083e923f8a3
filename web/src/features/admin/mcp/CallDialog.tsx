/** Everything that is kept of one call. */

import { useTranslation } from "react-i18next";

import { Badge } from "@/components/ui/Badge";
import { Dialog } from "@/components/ui/Dialog";
import { formatBytes, formatDateTime, formatDuration, formatNumber } from "@/lib/format";

import { Facts, type Fact } from "../parts/Facts";
import { useNameOf } from "../parts/people";
import { CALL_TONES, useCallNames } from "./callWords";
import type { McpCall } from "./queries";

export function CallDialog({ call, onClose }: { call: McpCall; onClose: () => void }) {
  const { t } = useTranslation("mcpAdmin");
  return (
    <Dialog
      isOpen
      onClose={onClose}
      title={t("calls.detailTitle", { name: call.tool_name })}
      width="medium"
    >
      <div className="pb-4">
        <Facts facts={useFacts(call)} />
      </div>
    </Dialog>
  );
}

function useFacts(call: McpCall): Fact[] {
  const { t } = useTranslation("mcpAdmin");
  const { t: common } = useTranslation();
  const names = useCallNames();
  const nameOf = useNameOf();
  const said = (value: boolean | null) =>
    value === null ? t("calls.unknown") : value ? common("yes") : common("no");
  const time = (ms: number | null) => (ms === null ? "–" : formatDuration(ms / 1000));
  const id = (value: string | null) =>
    value === null ? "–" : <code className="text-xs">{value}</code>;
  const why = [call.error_code, call.error_message].filter(Boolean).join(": ");
  return [
    {
      name: t("calls.status"),
      value: <Badge tone={CALL_TONES[call.status]}>{t(`calls.statuses.${call.status}`)}</Badge>,
    },
    ...(why === "" ? [] : [{ name: t("calls.why"), value: why }]),
    { name: t("calls.when"), value: formatDateTime(call.started_at) },
    { name: t("calls.ended"), value: call.ended_at === null ? "–" : formatDateTime(call.ended_at) },
    { name: t("calls.duration"), value: time(call.duration_ms) },
    { name: t("calls.waited"), value: time(call.queue_ms) },
    { name: t("calls.attempts"), value: formatNumber(call.attempts) },
    { name: t("calls.inputValid"), value: said(call.input_valid) },
    { name: t("calls.outputValid"), value: said(call.output_valid) },
    {
      name: t("calls.bytes"),
      value: call.result_bytes === null ? "–" : formatBytes(call.result_bytes),
    },
    { name: t("calls.user"), value: nameOf(call.user_id) },
    { name: t("calls.agent"), value: names.agent(call.agent_id) },
    { name: t("calls.server"), value: names.server(call.server_id) },
    { name: t("calls.tenant"), value: call.tenant_id ?? "–" },
    {
      name: t("calls.schema"),
      value: id(call.definition_hash && `v${call.schema_version ?? "?"} ${call.definition_hash}`),
    },
    { name: t("calls.protocol"), value: call.protocol_version ?? "–" },
    { name: t("calls.generation"), value: call.connection_generation ?? "–" },
    { name: t("calls.session"), value: id(call.session_id) },
    { name: t("calls.key"), value: id(call.api_key_id) },
    { name: t("calls.trace"), value: id(call.trace_id) },
    { name: t("calls.span"), value: id(call.span_id) },
    { name: t("calls.id"), value: id(call.call_id) },
  ];
}
