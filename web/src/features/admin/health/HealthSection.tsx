/** What works and what does not, how busy it is, and what it is made of. */

import { useQuery } from "@tanstack/react-query";
import { RefreshCw } from "lucide-react";
import { useTranslation } from "react-i18next";

import { api, call } from "@/api/client";
import { Button } from "@/components/ui/Button";
import { Banner } from "@/components/ui/Banner";
import { Card } from "@/components/ui/Page";
import { formatDateTime } from "@/lib/format";

import { Loaded } from "../parts/Loaded";
import { Section } from "../parts/Section";
import { CheckList } from "./CheckList";
import { checksOf, noticesOf } from "./checks";
import { SystemFacts } from "./SystemFacts";

const REFRESH_MS = 15_000;

export function HealthSection() {
  const { t } = useTranslation("admin");
  const { t: common } = useTranslation();
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
      actions={
        <Button isBusy={system.isFetching} onClick={() => void system.refetch()}>
          {!system.isFetching && <RefreshCw className="size-4" aria-hidden />}
          {common("refresh")}
        </Button>
      }
    >
      <Loaded query={system}>
        {(info) => (
          <>
            {system.isError && <Banner kind="danger">{t("health.unreachable")}</Banner>}
            <Card title={t(`health.statuses.${info.status}`)}>
              <CheckList checks={checksOf(info.checks)} />
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
