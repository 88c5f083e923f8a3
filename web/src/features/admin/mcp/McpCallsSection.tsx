/** The log of MCP calls: filters, pages, details. */

import { useQuery } from "@tanstack/react-query";
import { Activity, RefreshCw } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";

import { IconButton } from "@/components/ui/IconButton";
import { EmptyState } from "@/components/ui/States";

import { Loaded } from "../parts/Loaded";
import { Paging } from "../parts/Paging";
import { Section } from "../parts/Section";
import { CallDialog } from "./CallDialog";
import { CallFiltersForm } from "./CallFiltersForm";
import { callQuery, hasFilters, NO_FILTERS, PAGE_SIZE, type CallFilters } from "./callFilters";
import { CallTable } from "./CallTable";
import { callsQuery, type McpCall } from "./queries";

export function McpCallsSection() {
  const { t } = useTranslation("mcpAdmin");
  const { t: common } = useTranslation();
  const [filters, setFilters] = useState<CallFilters>(NO_FILTERS);
  const [offset, setOffset] = useState(0);
  const [opened, setOpened] = useState<McpCall | null>(null);
  const calls = useQuery(callsQuery(callQuery(filters, offset)));
  const isFiltered = hasFilters(filters);
  return (
    <Section
      title={t("calls.title")}
      text={t("calls.text")}
      actions={
        <IconButton
          icon={RefreshCw}
          label={common("refresh")}
          isBusy={calls.isFetching}
          onClick={() => void calls.refetch()}
        />
      }
    >
      <CallFiltersForm
        filters={filters}
        onChange={(changes) => {
          setFilters((now) => ({ ...now, ...changes }));
          setOffset(0);
        }}
      />
      <Loaded query={calls}>
        {({ items, total }) =>
          items.length === 0 ? (
            <EmptyState
              icon={Activity}
              title={isFiltered ? t("calls.noneFound") : t("calls.none")}
              text={isFiltered ? t("calls.noneFoundText") : t("calls.noneText")}
            />
          ) : (
            <div className="grid gap-2">
              <CallTable calls={items} onOpen={setOpened} />
              <Paging offset={offset} pageSize={PAGE_SIZE} total={total} onChange={setOffset} />
            </div>
          )
        }
      </Loaded>
      {opened && <CallDialog call={opened} onClose={() => setOpened(null)} />}
    </Section>
  );
}
