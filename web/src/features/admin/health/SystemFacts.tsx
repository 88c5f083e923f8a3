/** How busy the server is and what it is made of. */

import { useTranslation } from "react-i18next";

import { Card } from "@/components/ui/Page";
import { formatNumber } from "@/lib/format";

import { Facts, type Fact } from "../parts/Facts";
import { spanOf, type SystemInfo } from "./checks";

export function SystemFacts({ system }: { system: SystemInfo }) {
  const { t } = useTranslation("admin");
  const { runs, connections, sandbox, mcp } = system;
  const span = spanOf(system.uptime);
  const busy: Fact[] = [
    {
      name: t("health.facts.runs"),
      value:
        runs.queued === null
          ? t("health.runsActive", { active: formatNumber(runs.active) })
          : t("health.runsQueued", {
              active: formatNumber(runs.active),
              queued: formatNumber(runs.queued),
            }),
    },
    {
      name: t("health.facts.connections"),
      value: t("health.ofLimit", {
        used: formatNumber(connections.used),
        limit: formatNumber(connections.limit),
      }),
    },
    {
      name: t("health.facts.sandbox"),
      value:
        sandbox === null
          ? t("health.noSandbox")
          : t("health.sandbox", {
              kind: sandbox.kind,
              ready: formatNumber(sandbox.ready),
              inUse: formatNumber(sandbox.in_use),
            }),
    },
    {
      name: t("health.facts.mcp"),
      value:
        mcp === null
          ? t("health.noMcp")
          : t("health.mcp", {
              connected: formatNumber(mcp.connected),
              servers: formatNumber(mcp.servers),
            }),
    },
  ];
  const made: Fact[] = [
    { name: t("health.facts.uptime"), value: t(`health.uptime.${span.unit}`, { ...span }) },
    { name: t("health.facts.version"), value: system.versions.dataagent },
    { name: "Python", value: system.versions.python },
    { name: t("health.facts.model"), value: system.model },
    { name: t("health.facts.database"), value: system.database },
    { name: t("health.facts.runsIn"), value: t(`health.runsIn.${system.runs_in}`) },
  ];
  return (
    <div className="grid items-start gap-4 xl:grid-cols-2">
      <Card title={t("health.busy")}>
        <Facts facts={busy} />
      </Card>
      <Card title={t("health.made")}>
        <Facts facts={made} />
      </Card>
    </div>
  );
}
