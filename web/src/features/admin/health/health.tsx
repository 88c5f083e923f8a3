/** What works and what does not, how busy the server is, and what it is made of. */

import { useQuery } from "@tanstack/react-query";
import { CircleCheck, CircleX } from "lucide-react";
import { useTranslation } from "react-i18next";

import { api, call } from "@/api/client";
import { Banner } from "@/components/ui/Banner";
import { Card } from "@/components/ui/Page";
import { formatDateTime, formatNumber } from "@/lib/format";

import { RefreshButton, Section } from "../kit/list";
import { Facts, Loaded, type Fact } from "../kit/load";
import { checksOf, noticesOf, spanOf, type Check, type SystemInfo } from "./checks";

const REFRESH_MS = 15_000;

export function HealthSection() {
  const { t } = useTranslation("admin");
  const system = useQuery({
    queryKey: ["admin", "system"],
    queryFn: () => call(api.GET("/api/v1/system")),
    refetchInterval: REFRESH_MS,
    staleTime: 0,
  });
  return (
    <Section
      title={t("sections.health")}
      text={
        system.isSuccess
          ? t("health.asOf", { when: formatDateTime(system.dataUpdatedAt) })
          : t("health.text")
      }
      actions={<RefreshButton query={system} />}
    >
      <Loaded query={system}>
        {(info) => (
          <>
            {system.isError && <Banner kind="danger">{t("health.unreachable")}</Banner>}
            <Card title={t(`health.statuses.${info.status}`)}>
              <ul className="grid gap-3 text-sm">
                {checksOf(info.checks).map((check) => (
                  <CheckItem key={check.name} check={check} />
                ))}
              </ul>
            </Card>
            {noticesOf(info).map((notice) => (
              <Banner key={notice} kind="warn">
                {t(`health.notices.${notice}`, { names: info.mcp?.failing.join(", ") ?? "" })}
              </Banner>
            ))}
            <SystemFacts system={info} />
          </>
        )}
      </Loaded>
    </Section>
  );
}

/** A check of readiness; one that fails says what to do. */
function CheckItem({ check: { name, says, isWell, advice } }: { check: Check }) {
  const { t } = useTranslation("admin");
  const Icon = isWell ? CircleCheck : CircleX;
  return (
    <li className="flex items-start gap-2">
      <Icon
        className={`mt-0.5 size-4 shrink-0 ${isWell ? "text-good" : "text-danger"}`}
        aria-hidden
      />
      <div className="min-w-0 [overflow-wrap:anywhere]">
        <span className="font-medium">{advice ? t(`health.checks.${advice}`) : name}</span>
        {": "}
        <span className={isWell ? "text-muted" : "text-danger"}>
          {isWell ? t("health.ok") : says}
        </span>
        {!isWell && (
          <p className="text-muted">
            {advice ? t(`health.advice.${advice}`) : t("health.otherAdvice")}
          </p>
        )}
      </div>
    </li>
  );
}

function SystemFacts({ system }: { system: SystemInfo }) {
  const { t } = useTranslation("admin");
  const { runs, connections, sandbox, mcp, versions } = system;
  const span = spanOf(system.uptime);
  const active = formatNumber(runs.active);
  const load: Fact[] = [
    {
      name: t("health.facts.runs"),
      value:
        runs.queued === null
          ? t("health.runsActive", { active })
          : t("health.runsQueued", { active, queued: formatNumber(runs.queued) }),
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
  const parts: Fact[] = [
    { name: t("health.facts.uptime"), value: t(`health.uptime.${span.unit}`, { ...span }) },
    { name: t("health.facts.version"), value: versions.dataagent },
    { name: "Python", value: versions.python },
    { name: t("health.facts.model"), value: system.model },
    { name: t("health.facts.database"), value: system.database },
    { name: t("health.facts.runsIn"), value: t(`health.runsIn.${system.runs_in}`) },
  ];
  return (
    <div className="grid items-start gap-4 xl:grid-cols-2">
      <Card title={t("health.busy")}>
        <Facts facts={load} />
      </Card>
      <Card title={t("health.made")}>
        <Facts facts={parts} />
      </Card>
    </div>
  );
}
