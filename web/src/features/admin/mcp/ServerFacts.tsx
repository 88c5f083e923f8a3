/** How a server is registered and how it has been lately. */

import { useTranslation } from "react-i18next";

import { formatCommandLine } from "@/features/mcp/commandLine";
import { formatDateTime, formatNumber } from "@/lib/format";

import { Facts, type Fact } from "../parts/Facts";
import { useWhose } from "./serverWords";
import type { SharedServer } from "./sharedForm";

export function ServerFacts({ server }: { server: SharedServer }) {
  const { t } = useTranslation("mcpAdmin");
  const { t: mcp } = useTranslation("mcp");
  const whose = useWhose();
  const at = (iso: string | null) => (iso === null ? t("details.never") : formatDateTime(iso));
  const secrets = [...Object.keys(server.headers), ...Object.keys(server.env)];
  const facts: (Fact | null)[] = [
    { name: t("registry.whose"), value: whose(server) },
    reached(server, t("details.address"), t("details.command")),
    { name: t("details.transport"), value: mcp(`transports.${server.transport}`) },
    { name: t("details.secrets"), value: secrets.join(", ") || t("details.none") },
    { name: t("details.alias"), value: <code>{server.alias}</code> },
    { name: t("details.version"), value: server.protocol_version ?? "–" },
    { name: t("details.software"), value: softwareOf(server.server_info) },
    { name: t("details.lastOk"), value: at(server.last_ok_at) },
    { name: t("details.failCount"), value: formatNumber(server.fail_count) },
    server.next_retry_at === null
      ? null
      : { name: t("details.nextRetry"), value: formatDateTime(server.next_retry_at) },
    {
      name: t("details.connection"),
      value: t(`server.sessionScopes.${server.session_scope}`),
    },
    { name: t("details.concurrency"), value: formatNumber(server.max_concurrency) },
    { name: t("details.onChange"), value: t(`server.onChanges.${server.on_change}`) },
    { name: t("details.id"), value: <code className="text-xs">{server.server_id}</code> },
  ];
  return <Facts facts={facts.filter((fact) => fact !== null)} />;
}

function reached(server: SharedServer, address: string, command: string): Fact {
  if (server.command === null) return { name: address, value: <code>{server.url}</code> };
  const line = formatCommandLine({ command: server.command, args: server.args });
  return { name: command, value: <code>{line}</code> };
}

function softwareOf(info: SharedServer["server_info"]): string {
  const texts = [info?.["name"], info?.["version"]].filter((each) => typeof each === "string");
  return texts.join(" ") || "–";
}
