/** The data sources in a list. */

import { useTranslation } from "react-i18next";

import { Badge } from "@/components/ui/Badge";
import { Button } from "@/components/ui/Button";
import { Table, type Column } from "@/components/ui/Table";

import { useNameOf } from "../parts/people";
import { isForEveryone } from "./grants";
import type { Source } from "./queries";

interface SourceTableProps {
  sources: Source[];
  onOpen: (sourceId: string) => void;
}

export function SourceTable({ sources, onOpen }: SourceTableProps) {
  const { t } = useTranslation("admin");
  const nameOf = useNameOf();
  const columns: Column<Source>[] = [
    {
      header: t("sources.name"),
      cell: (source) => (
        <div className="grid gap-0.5">
          <button
            type="button"
            className="text-left font-medium text-accent underline-offset-2 hover:underline"
            onClick={() => onOpen(source.source_id)}
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
    {
      header: t("actions"),
      isRight: true,
      cell: (source) => (
        <Button
          size="small"
          aria-label={t("sources.openNamed", { name: source.name })}
          onClick={() => onOpen(source.source_id)}
        >
          {t("sources.open")}
        </Button>
      ),
    },
  ];
  return (
    <Table
      label={t("sections.sources")}
      columns={columns}
      rows={sources}
      rowKey={(source) => source.source_id}
    />
  );
}
