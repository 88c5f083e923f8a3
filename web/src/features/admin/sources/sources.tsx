/** Databases and folders that can be queried, who may read them, and by which rules. */

import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { DatabaseZap } from "lucide-react";
import { useTranslation } from "react-i18next";

import { Badge } from "@/components/ui/Badge";
import { EmptyState } from "@/components/ui/States";
import type { Column } from "@/components/ui/Table";
import type { Source } from "@/features/data/queries";

import { ResourceList, Section } from "../kit/list";
import { useNameOf } from "../kit/people";
import { isForEveryone } from "./access";
import { allSourcesQuery } from "./queries";
import { SourceDetails } from "./sourceDetails";
import { SourceDialog } from "./sourceDialog";

/** The source that is open is in the address: a reload or a link opens it again. */
function useOpenSource(): [string | undefined, (sourceId: string | undefined) => void] {
  const { item } = useSearch({ from: "/shell/admin/$section" });
  const navigate = useNavigate({ from: "/admin/$section" });
  const open = (next: string | undefined) =>
    void navigate({ search: next === undefined ? {} : { item: next } });
  return [item, open];
}

export function SourcesSection() {
  const { t } = useTranslation("admin");
  const [openId, open] = useOpenSource();
  const sources = useQuery(allSourcesQuery);
  const columns = useColumns(open);
  const opened = sources.data?.items.find((each) => each.source_id === openId);
  if (opened) return <SourceDetails source={opened} onBack={() => open(undefined)} />;
  return (
    <Section
      title={t("sections.sources")}
      text={t("sources.text")}
      add={{
        label: t("sources.add"),
        dialog: (close) => (
          <SourceDialog
            source={null}
            onClose={close}
            onCreated={(source) => open(source.source_id)}
          />
        ),
      }}
    >
      <ResourceList
        label={t("sections.sources")}
        query={sources}
        columns={columns}
        rowKey={(source) => source.source_id}
        buttons={(source) => [
          {
            label: t("sources.openNamed", { name: source.name }),
            text: t("sources.open"),
            run: () => open(source.source_id),
          },
        ]}

        empty={
          <EmptyState icon={DatabaseZap} title={t("sources.none")} text={t("sources.noneText")} />
        }
      />
    </Section>
  );
}

function useColumns(open: (sourceId: string) => void): Column<Source>[] {
  const { t } = useTranslation("admin");
  const nameOf = useNameOf();
  return [
    {
      header: t("sources.name"),
      cell: (source) => (
        <div className="grid gap-0.5">
          <button
            type="button"
            className="text-left font-medium text-accent underline-offset-2 hover:underline"
            onClick={() => open(source.source_id)}
          >
            {source.name}
          </button>
          <span className="line-clamp-2 max-w-md text-xs text-muted">{source.description}</span>
        </div>
      ),
    },
    {
      header: t("sources.kind"),
      isMinor: true,
      cell: (source) => (
        <span className="inline-flex flex-wrap gap-1">
          {t(`sources.kinds.${source.kind}`)}
          {source.is_sample && <Badge>{t("sources.sample")}</Badge>}
          {source.is_from_config && <Badge>{t("sources.fromConfig")}</Badge>}
        </span>
      ),
    },
    {
      header: t("sources.readers"),
      cell: (source) => {
        const grants = source.grants ?? [];
        if (source.owner_id) return t("sources.owner", { name: nameOf(source.owner_id) });
        if (isForEveryone(grants)) return t("sources.everyone");
        if (grants.length === 0) return <Badge tone="warn">{t("sources.adminsOnly")}</Badge>;
        return t("sources.grantCount", { count: grants.length });
      },
    },
  ];
}
