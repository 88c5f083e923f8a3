/** The audit log: who did what, when, and how it ended. */

import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { Download, Info, ScrollText } from "lucide-react";
import { useId, useState } from "react";
import { useTranslation } from "react-i18next";

import { api, call, type Schemas } from "@/api/client";
import { CodeBlock } from "@/components/CodeBlock";
import { Badge, type Tone } from "@/components/ui/Badge";
import { Button } from "@/components/ui/Button";
import { Dialog } from "@/components/ui/Dialog";
import { Menu, MenuItem, MenuLabel } from "@/components/ui/Menu";
import { EmptyState } from "@/components/ui/States";
import type { Column } from "@/components/ui/Table";
import { toast } from "@/components/ui/toast";
import { save } from "@/features/artifacts/download";
import { useErrorText } from "@/lib/errorText";
import { formatDateTime, formatNumber } from "@/lib/format";

import { choice, Fields, input, user, type FieldsProps } from "../kit/form";
import { RefreshButton, ResourceList, Section, usePages } from "../kit/list";
import { Facts, type Fact } from "../kit/load";
import { useNameOf } from "../kit/people";
import {
  AUDIT_PAGE_SIZE,
  exportUrl,
  FORMATS,
  isFiltered,
  NO_FILTER,
  OUTCOMES,
  queryOf,
  type AuditFilter,
} from "./auditFilter";
import { Verification } from "./verification";

type AuditRow = Schemas["AuditInfo"];

const OUTCOME_TONES: Record<AuditRow["outcome"], Tone> = {
  success: "good",
  denied: "warn",
  failed: "danger",
};

export function AuditSection() {
  const { t } = useTranslation("admin");
  const [filter, setFilter] = useState(NO_FILTER);
  const paging = usePages(AUDIT_PAGE_SIZE);
  const query = queryOf(filter, paging.offset);
  const rows = useQuery({
    queryKey: ["admin", "audit", query],
    queryFn: () => call(api.GET("/api/v1/audit", { params: { query } })),
    placeholderData: keepPreviousData,
    staleTime: 0,
  });
  const change = (changes: Partial<AuditFilter>) => {
    setFilter({ ...filter, ...changes });
    paging.onChange(0);
  };
  return (
    <Section
      title={t("sections.audit")}
      text={t("audit.text")}
      actions={
        <>
          <ExportMenu filter={filter} total={rows.data?.total} />
          <RefreshButton query={rows} />
        </>
      }
    >
      <Verification />
      <AuditFilters form={filter} change={change} rows={rows.data?.items ?? []} />
      <ResourceList
        label={t("sections.audit")}
        query={rows}
        columns={useColumns()}
        rowKey={(row) => row.position}
        actionsLabel={t("audit.details")}
        buttons={(row) => [
          {
            label: t("audit.detailsOf", { position: row.position }),
            icon: Info,
            dialog: (close) => <RowDialog row={row} onClose={close} />,
          },
        ]}

        paging={paging}
        empty={
          <EmptyState
            icon={ScrollText}
            title={t(isFiltered(filter) ? "audit.noneFound" : "audit.none")}
            action={
              isFiltered(filter) && (
                <Button onClick={() => change(NO_FILTER)}>{t("audit.showAll")}</Button>
              )
            }
          />
        }
      />
    </Section>
  );
}

function useColumns(): Column<AuditRow>[] {
  const { t } = useTranslation("admin");
  const nameOf = useNameOf();
  return [
    {
      header: t("audit.when"),
      cell: (row) => <span className="whitespace-nowrap">{formatDateTime(row.at)}</span>,
    },
    { header: t("audit.who"), cell: (row) => (row.user_id === null ? "–" : nameOf(row.user_id)) },
    {
      header: t("audit.action"),
      cell: (row) => <code className="text-[13px] break-all">{row.action}</code>,
    },
    {
      header: t("audit.target"),
      isMinor: true,
      cell: (row) => (
        <span className="line-clamp-1 max-w-56 break-all" title={row.target ?? ""}>
          {row.target === null ? "" : nameOf(row.target)}
        </span>
      ),
    },
    { header: t("audit.outcome"), cell: (row) => <OutcomeBadge outcome={row.outcome} /> },
  ];
}

function OutcomeBadge({ outcome }: Pick<AuditRow, "outcome">) {
  const { t } = useTranslation("admin");
  return <Badge tone={OUTCOME_TONES[outcome]}>{t(`audit.outcomes.${outcome}`)}</Badge>;
}

const USUAL_ACTIONS = ["login", "logout", "tool.call", "sql.query", "mcp.call", "approval.decide"];

interface AuditFiltersProps extends Omit<FieldsProps<AuditFilter>, "fields"> {
  /** On the page now: their actions are offered. */
  rows: AuditRow[];
}

function AuditFilters({ form, change, rows }: AuditFiltersProps) {
  const { t } = useTranslation("admin");
  const listId = useId();
  const actions = [...new Set([...USUAL_ACTIONS, ...rows.map((row) => row.action)])].sort();
  const text = (name: "action" | "runId" | "from" | "to", type: string, list?: string) =>
    input(name, t(`audit.filters.${name}`), {
      type,
      className: "min-w-0",
      list,
      spellCheck: false,
    });
  const moment = (name: "from" | "to") => (
    <div key={name} className="col-span-2 sm:col-span-1">
      <Fields form={form} change={change} fields={[text(name, "datetime-local")]} />
    </div>
  );
  return (
    <div
      role="search"
      aria-label={t("audit.filters.label")}
      className="grid grid-cols-2 gap-3 xl:grid-cols-3"
    >
      <Fields
        form={form}
        change={change}
        fields={[
          user("userId", t("audit.who"), t("audit.filters.anyone")),
          choice<"outcome", string, string>(
            "outcome",
            t("audit.outcome"),
            OUTCOMES.map((value) => ({ value, label: t(`audit.outcomes.${value}`) })),
            { empty: t("audit.filters.any") },
          ),
          text("action", "text", listId),
          text("runId", "text"),
        ]}
      />
      {moment("from")}
      {moment("to")}
      <datalist id={listId}>
        {actions.map((action) => (
          <option key={action} value={action} />
        ))}
      </datalist>
    </div>
  );
}

const IDS = ["via", "address", "target", "request_id", "session_id", "run_id"] as const;

/** Everything that the log has about one entry. */
function RowDialog({ row, onClose }: { row: AuditRow; onClose: () => void }) {
  const { t } = useTranslation("admin");
  const nameOf = useNameOf();
  const hash = (value: string) => <code className="text-xs break-all">{value}</code>;
  const facts: Fact[] = [
    { name: t("audit.when"), value: formatDateTime(row.at) },
    {
      name: t("audit.who"),
      value: row.user_id === null ? "–" : `${nameOf(row.user_id)} (${row.user_id})`,
    },
    { name: t("audit.outcome"), value: <OutcomeBadge outcome={row.outcome} /> },
    ...IDS.filter((field) => row[field] !== null).map((field) => ({
      name: t(`audit.fields.${field}`),
      value: row[field],
    })),
    { name: t("audit.fields.hash"), value: hash(row.hash) },
    { name: t("audit.fields.previousHash"), value: hash(row.previous_hash) },
  ];
  return (
    <Dialog
      isOpen
      onClose={onClose}
      title={t("audit.rowTitle", { action: row.action, position: row.position })}
      width="wide"
    >
      <div className="grid gap-4 pb-3">
        <Facts facts={facts} />
        <CodeBlock
          code={JSON.stringify(row.details, null, 2)}
          language="json"
          label={t("audit.details")}
        />
      </div>
    </Dialog>
  );
}

interface ExportMenuProps {
  filter: AuditFilter;
  /** How many rows fit, once it is known. */
  total: number | undefined;
}

/** Everything that fits the filter as a file, written by the server while it is downloaded. */
function ExportMenu({ filter, total }: ExportMenuProps) {
  const { t } = useTranslation("admin");
  const errorText = useErrorText();
  const start = async (format: (typeof FORMATS)[number]) => {
    try {
      // A download cannot show a refusal, so that an administrator's rights are checked before.
      await call(api.GET("/api/v1/audit", { params: { query: queryOf(filter, 0) } }));
      save(exportUrl(filter, format));
    } catch (error) {
      toast(errorText(error), { tone: "danger" });
    }
  };
  return (
    <Menu
      trigger={
        <Button>
          <Download className="size-4" aria-hidden />
          {t("audit.export.button")}
        </Button>
      }
    >
      {total !== undefined && (
        <MenuLabel>{t("audit.export.rows", { count: total, rows: formatNumber(total) })}</MenuLabel>
      )}
      {FORMATS.map((format) => (
        <MenuItem key={format} onSelect={() => void start(format)}>
          {t(`audit.export.formats.${format}`)}
        </MenuItem>
      ))}
    </Menu>
  );
}
