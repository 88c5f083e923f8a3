/** One data source: what it is, who may read it, its rules, and how a user sees it. */

import { queryOptions, useQuery } from "@tanstack/react-query";
import { ArrowLeft, RefreshCw } from "lucide-react";
import { useTranslation } from "react-i18next";

import { api, call } from "@/api/client";
import { Badge } from "@/components/ui/Badge";
import { Banner } from "@/components/ui/Banner";
import { Button } from "@/components/ui/Button";
import { Card } from "@/components/ui/Page";
import { Tabs } from "@/components/ui/Tabs";
import type { Source } from "@/features/data/queries";
import { formatBytes, formatDateTime, formatDuration, formatNumber } from "@/lib/format";

import { Problem, useChange } from "../kit/change";
import { confirmed, RowButtons, Section } from "../kit/list";
import { Facts, Loaded, type Fact } from "../kit/load";
import { AccessTab } from "./access";
import { PoliciesTab } from "./policies";
import { allSourcesQuery, pathOf, SOURCE_KEYS, SOURCES } from "./queries";
import { SourceDialog } from "./sourceDialog";
import { ViewAsTab } from "./viewAs";

interface SourceViewProps {
  source: Source;
  onBack: () => void;
}

export function SourceDetails({ source, onBack }: SourceViewProps) {
  const { t } = useTranslation("admin");
  const { t: common } = useTranslation();
  const { name, is_from_config: isFixed } = source;
  return (
    <div className="grid min-w-0 gap-3">
      <div>
        <Button size="small" variant="ghost" onClick={onBack}>
          <ArrowLeft className="size-4" aria-hidden />
          {t("sources.back")}
        </Button>
      </div>
      <Section
        title={name}
        text={source.description}
        actions={
          <RowButtons
            actions={[
              {
                label: common("edit"),
                isDisabled: isFixed,
                dialog: (close) => <SourceDialog source={source} onClose={close} />,
              },
              confirmed({
                label: common("delete"),
                isDanger: true,
                isDisabled: isFixed,
                title: t("sources.delete.title", { name }),
                explanation: t("sources.delete.text"),
                confirm: t("sources.delete.open"),
                typed: name,
                run: () =>
                  call(api.DELETE("/api/v1/data-sources/{source_id}", { params: pathOf(source) })),
                keys: [allSourcesQuery.queryKey, ["sources"]], // its own queries would fail now
                done: t("sources.delete.done", { name }),
                onDone: onBack,
              }),
            ]}
          />
        }
      >
        {isFixed && (
          <p className="text-sm text-muted">
            <Badge>{t("sources.fromConfig")}</Badge> {t("sources.fromConfigText")}
          </p>
        )}
        <Tabs
          label={name}
          tabs={[
            {
              value: "overview",
              label: t("sources.tabs.overview"),
              content: (
                <div className="grid gap-4">
                  <SourceFacts source={source} />
                  <CatalogueCard source={source} />
                </div>
              ),
            },
            {
              value: "access",
              label: t("sources.tabs.access"),
              content: <AccessTab key={source.updated_at} source={source} />,
            },
            {
              value: "policies",
              label: t("sources.tabs.policies"),
              content: <PoliciesTab source={source} />,
            },
            {
              value: "view-as",
              label: t("sources.tabs.viewAs"),
              content: <ViewAsTab source={source} />,
            },
          ]}
        />
      </Section>
    </div>
  );
}

function SourceFacts({ source }: { source: Source }) {
  const { t } = useTranslation("admin");
  const { limits, address, folder, files } = source;
  const kind = t(`sources.kinds.${source.kind}`);
  const facts: (Fact | false)[] = [
    {
      name: t("sources.kind"),
      value: source.dialect === null ? kind : `${kind} (${source.dialect})`,
    },
    Boolean(address) && { name: t("sources.address"), value: <code>{address}</code> },
    Boolean(folder) && { name: t("sources.folder"), value: <code>{folder}</code> },
    (files?.length ?? 0) > 0 && { name: t("sources.files"), value: files?.join(", ") },
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
      <Facts facts={facts.filter((fact) => fact !== false)} />
    </Card>
  );
}

const catalogueQuery = (source: Source) =>
  queryOptions({
    queryKey: [...SOURCES, "catalogue", source.source_id],
    queryFn: () =>
      call(api.GET("/api/v1/data-sources/{source_id}/catalogue", { params: pathOf(source) })),
  });

/** How fresh the list of tables is, what changed in it, and a button to read it again. */
function CatalogueCard({ source }: { source: Source }) {
  const { t } = useTranslation("admin");
  const catalogue = useQuery(catalogueQuery(source));
  const refresh = useChange(
    () => call(api.POST("/api/v1/data-sources/{source_id}/refresh", { params: pathOf(source) })),
    { keys: SOURCE_KEYS },
  );
  const driftTitle = (at: string | null) =>
    at === null
      ? t("sources.catalogue.drift")
      : `${t("sources.catalogue.drift")} (${formatDateTime(at)})`;
  return (
    <Card
      title={t("sources.catalogue.title")}
      actions={
        <Button size="small" isBusy={refresh.isPending} onClick={() => refresh.mutate(undefined)}>
          {!refresh.isPending && <RefreshCw className="size-4" aria-hidden />}
          {t("sources.catalogue.refresh")}
        </Button>
      }
    >
      <div className="grid gap-3 text-sm">
        <Problem error={refresh.error} />
        <Loaded query={catalogue} lines={2}>
          {(summary) => (
            <>
              <p>
                {t("sources.catalogue.state", {
                  count: summary.table_count,
                  tables: formatNumber(summary.table_count),
                  when: formatDateTime(summary.refreshed_at),
                })}
              </p>
              {summary.problem !== null && <Banner kind="danger">{summary.problem}</Banner>}
              <CatalogueLines title={driftTitle(summary.drifted_at)} lines={summary.drift} />
              <CatalogueLines title={t("sources.catalogue.leftOut")} lines={summary.left_out} />
              {summary.drift.length === 0 && (
                <p className="text-muted">{t("sources.catalogue.noDrift")}</p>
              )}
            </>
          )}
        </Loaded>
      </div>
    </Card>
  );
}

function CatalogueLines({ title, lines }: { title: string; lines: string[] }) {
  if (lines.length === 0) return null;
  return (
    <div>
      <div className="font-medium">{title}</div>
      <ul className="mt-1 max-h-60 list-disc overflow-y-auto pl-5 [overflow-wrap:anywhere]">
        {lines.map((line) => (
          <li key={line}>{line}</li>
        ))}
      </ul>
    </div>
  );
}
