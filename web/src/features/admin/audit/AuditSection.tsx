/** Who did what, when, and how it ended; and whether the log is as it was written. */

import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { RefreshCw, ScrollText } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";

import { api, call, type Schemas } from "@/api/client";
import { Button } from "@/components/ui/Button";
import { EmptyState } from "@/components/ui/States";

import { Loaded } from "../parts/Loaded";
import { Paging } from "../parts/Paging";
import { Section } from "../parts/Section";
import { AuditDetails } from "./AuditDetails";
import { AuditFilters } from "./AuditFilters";
import { AuditTable } from "./AuditTable";
import { ExportMenu } from "./ExportMenu";
import { isFiltered, NO_FILTER, PAGE_SIZE, queryOf, type AuditFilter } from "./filter";
import { Verify } from "./Verify";

export type AuditRow = Schemas["AuditInfo"];

export function AuditSection() {
  const { t } = useTranslation("admin");
  const { t: common } = useTranslation();
  const [filter, setFilter] = useState(NO_FILTER);
  const [offset, setOffset] = useState(0);
  const [opened, setOpened] = useState<AuditRow | null>(null);
  const query = queryOf(filter, offset);
  const rows = useQuery({
    queryKey: ["admin", "audit", query],
    queryFn: () => call(api.GET("/api/v1/audit", { params: { query } })),
    placeholderData: keepPreviousData,
    staleTime: 0,
  });
  const change = (next: AuditFilter) => {
    setFilter(next);
    setOffset(0);
  };
  return (
    <Section
      title={t("sections.audit")}
      text={t("audit.text")}
      actions={
        <>
          <ExportMenu filter={filter} total={rows.data?.total} />
          <Button isBusy={rows.isFetching} onClick={() => void rows.refetch()}>
            {!rows.isFetching && <RefreshCw className="size-4" aria-hidden />}
            {common("refresh")}
          </Button>
        </>
      }
    >
      <Verify />
      <AuditFilters filter={filter} onChange={change} seen={rows.data?.items ?? []} />
      <Loaded query={rows}>
        {({ items, total }) =>
          items.length === 0 ? (
            <EmptyState
              icon={ScrollText}
              title={t(isFiltered(filter) ? "audit.noneFound" : "audit.none")}
              action={
                isFiltered(filter) && (
                  <Button onClick={() => change(NO_FILTER)}>{t("audit.showAll")}</Button>
                )
              }
            />
          ) : (
            <>
              <AuditTable rows={items} onOpen={setOpened} />
              <Paging offset={offset} pageSize={PAGE_SIZE} total={total} onChange={setOffset} />
            </>
          )
        }
      </Loaded>
      {opened && <AuditDetails row={opened} onClose={() => setOpened(null)} />}
    </Section>
  );
}
