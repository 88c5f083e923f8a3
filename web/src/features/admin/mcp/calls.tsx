/** The log of MCP calls: filters, pages, details. */

import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { Activity } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { useTranslation } from "react-i18next";

import { api, call, type Schemas } from "@/api/client";
import { Badge, type Tone } from "@/components/ui/Badge";
import { Button } from "@/components/ui/Button";
import { Dialog } from "@/components/ui/Dialog";
import { Field, Input } from "@/components/ui/Field";
import { EmptyState } from "@/components/ui/States";
import type { Column } from "@/components/ui/Table";
import { formatBytes, formatDateTime, formatDuration, formatNumber } from "@/lib/format";

import { choice, Fields, input, user } from "../kit/form";
import { RefreshButton, ResourceList, Section, usePages } from "../kit/list";
import { Facts, type Fact } from "../kit/load";
import { useNameOf } from "../kit/people";
import { allAgentsQuery, registryQuery } from "../queries";
import {
  CALL_STATUSES,
  callQuery,
  CALLS_PAGE_SIZE,
  hasFilters,
  NO_FILTERS,
  type CallFilters,
  type CallStatus,
} from "./callFilters";

type McpCall = Schemas["CallInfo"];

const CALL_TONES: Record<CallStatus, Tone> = {
  ok: "good",
  error: "danger",
  timeout: "danger",
  denied: "warn",
  invalid: "warn",
  cancelled: "neutral",
  unavailable: "danger",
};

export function McpCallsSection() {
  const { t } = useTranslation("mcpAdmin");
  const [filters, setFilters] = useState(NO_FILTERS);
  const paging = usePages(CALLS_PAGE_SIZE);
  const query = callQuery(filters, paging.offset);
  const calls = useQuery({
    queryKey: ["mcp", "calls", query],
    queryFn: () => call(api.GET("/api/v1/mcp/calls", { params: { query } })),
    placeholderData: keepPreviousData,
  });
  const change = (changes: Partial<CallFilters>) => {
    setFilters((now) => ({ ...now, ...changes }));
    paging.onChange(0);
  };
  const isFiltered = hasFilters(filters);
  return (
    <Section
      title={t("calls.title")}
      text={t("calls.text")}
      actions={<RefreshButton query={calls} />}
    >
      <CallFilterForm form={filters} change={change} />
      <ResourceList
        label={t("calls.title")}
        query={calls}
        columns={useColumns()}
        rowKey={(each) => each.call_id}
        actionsLabel={t("calls.details")}
        buttons={(each) => [
          {
            label: t("calls.detailsOf", { name: each.tool_name }),
            text: t("calls.details"),
            dialog: (close) => <CallDialog call={each} onClose={close} />,
          },
        ]}

        paging={paging}
        empty={
          <EmptyState
            icon={Activity}
            title={isFiltered ? t("calls.noneFound") : t("calls.none")}
            text={isFiltered ? t("calls.noneFoundText") : t("calls.noneText")}
          />
        }
      />
    </Section>
  );
}

/** Names of servers and agents by id; the id itself if there is none. */
function useCallNames() {
  const servers = useQuery(registryQuery).data?.items ?? [];
  const agents = useQuery(allAgentsQuery).data?.items ?? [];
  const serverNames = new Map(servers.map((each) => [each.server_id, each.name]));
  const agentNames = new Map(agents.map((each) => [each.id, each.name]));
  return {
    server: (id: string) => serverNames.get(id) ?? id,
    agent: (id: string) => agentNames.get(id) ?? id,
  };
}

function useColumns(): Column<McpCall>[] {
  const { t } = useTranslation("mcpAdmin");
  const names = useCallNames();
  const nameOf = useNameOf();
  return [
    { header: t("calls.when"), cell: (each) => formatDateTime(each.started_at), isMinor: true },
    {
      header: t("calls.tool"),
      cell: (each) => (
        <>
          <code className="text-[13px] [overflow-wrap:anywhere]">{each.tool_name}</code>
          <p className="text-xs text-muted">{names.server(each.server_id)}</p>
        </>
      ),
    },
    { header: t("calls.status"), cell: (each) => <CallBadge status={each.status} /> },
    { header: t("calls.user"), cell: (each) => nameOf(each.user_id), isMinor: true },
    { header: t("calls.agent"), cell: (each) => names.agent(each.agent_id), isMinor: true },
    {
      header: t("calls.duration"),
      isRight: true,
      isMinor: true,
      cell: (each) => timeText(each.duration_ms),
    },
  ];
}

const timeText = (ms: number | null) => (ms === null ? "–" : formatDuration(ms / 1000));

function CallBadge({ status }: { status: CallStatus }) {
  const { t } = useTranslation("mcpAdmin");
  return <Badge tone={CALL_TONES[status]}>{t(`calls.statuses.${status}`)}</Badge>;
}

interface CallFilterFormProps {
  form: CallFilters;
  change: (changes: Partial<CallFilters>) => void;
}

const GRID = "grid gap-3 sm:grid-cols-2 lg:grid-cols-4";
const TEXTS = [
  ["toolName", "calls.tool"],
  ["sessionId", "calls.session"],
  ["traceId", "calls.trace"],
  ["tenantId", "calls.tenant"],
] as const;

/** The usual filters, and the rest on demand. */
function CallFilterForm({ form, change }: CallFilterFormProps) {
  const { t } = useTranslation("mcpAdmin");
  const servers = (useQuery(registryQuery).data?.items ?? []).map((each) => ({
    value: each.server_id,
    label: each.name,
  }));
  const agents = (useQuery(allAgentsQuery).data?.items ?? []).map((each) => ({
    value: each.id,
    label: each.name,
  }));
  const statuses = CALL_STATUSES.map((value) => ({ value, label: t(`calls.statuses.${value}`) }));
  const empty = t("calls.any");
  const moment = (name: "from" | "to") =>
    input(name, t(`calls.${name}`), { type: "datetime-local" });
  return (
    <form
      aria-label={t("calls.filters")}
      onSubmit={(event) => event.preventDefault()}
      className="grid gap-3 rounded-xl border border-line bg-raised p-4"
    >
      <div className={GRID}>
        <Fields
          form={form}
          change={change}
          fields={[
            choice("status", t("calls.status"), statuses, { empty }),
            choice("serverId", t("calls.server"), servers, { empty }),
            choice("agentId", t("calls.agent"), agents, { empty }),
            user("userId", t("calls.user"), empty),
          ]}
        />
      </div>
      <details>
        <summary className="text-sm text-muted">{t("calls.moreFilters")}</summary>
        <div className={`${GRID} pt-3`}>
          <Fields form={form} change={change} fields={[moment("from"), moment("to")]} />
          {TEXTS.map(([name, label]) => (
            <FilterText
              key={name}
              label={t(label)}
              value={form[name]}
              onChange={(value) => change({ [name]: value })}
            />
          ))}
        </div>
      </details>
      {hasFilters(form) && (
        <div>
          <Button size="small" onClick={() => change(NO_FILTERS)}>
            {t("calls.clear")}
          </Button>
        </div>
      )}
    </form>
  );
}

interface FilterTextProps {
  label: string;
  value: string;
  onChange: (value: string) => void;
}

const PAUSE_MS = 400;

/** A filter that is typed: it is applied when typing pauses. */
function FilterText({ label, value, onChange }: FilterTextProps) {
  const [typed, setTyped] = useState<string | null>(null);
  const timer = useRef<number | undefined>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  const type = (text: string) => {
    setTyped(text);
    clearTimeout(timer.current);
    timer.current = window.setTimeout(() => {
      setTyped(null);
      onChange(text.trim());
    }, PAUSE_MS);
  };
  return (
    <Field label={label}>
      {(control) => (
        <Input
          {...control}
          autoComplete="off"
          spellCheck={false}
          value={typed ?? value}
          onChange={(event) => type(event.target.value)}
        />
      )}
    </Field>
  );
}

/** Everything that is recorded of one call. */
function CallDialog({ call: record, onClose }: { call: McpCall; onClose: () => void }) {
  const { t } = useTranslation("mcpAdmin");
  return (
    <Dialog
      isOpen
      onClose={onClose}
      title={t("calls.detailTitle", { name: record.tool_name })}
      width="medium"
    >
      <div className="pb-4">
        <Facts facts={useFacts(record)} />
      </div>
    </Dialog>
  );
}

function useFacts(record: McpCall): Fact[] {
  const { t } = useTranslation("mcpAdmin");
  const { t: common } = useTranslation();
  const names = useCallNames();
  const nameOf = useNameOf();
  const said = (value: boolean | null) =>
    value === null ? t("calls.unknown") : value ? common("yes") : common("no");
  const id = (value: string | null) =>
    value === null ? "–" : <code className="text-xs">{value}</code>;
  const { definition_hash: hash, schema_version: version, result_bytes: bytes } = record;
  const reason = [record.error_code, record.error_message].filter(Boolean).join(": ");
  return [
    { name: t("calls.status"), value: <CallBadge status={record.status} /> },
    ...(reason === "" ? [] : [{ name: t("calls.why"), value: reason }]),
    { name: t("calls.when"), value: formatDateTime(record.started_at) },
    {
      name: t("calls.ended"),
      value: record.ended_at === null ? "–" : formatDateTime(record.ended_at),
    },
    { name: t("calls.duration"), value: timeText(record.duration_ms) },
    { name: t("calls.waited"), value: timeText(record.queue_ms) },
    { name: t("calls.attempts"), value: formatNumber(record.attempts) },
    { name: t("calls.inputValid"), value: said(record.input_valid) },
    { name: t("calls.outputValid"), value: said(record.output_valid) },
    { name: t("calls.bytes"), value: bytes === null ? "–" : formatBytes(bytes) },
    { name: t("calls.user"), value: nameOf(record.user_id) },
    { name: t("calls.agent"), value: names.agent(record.agent_id) },
    { name: t("calls.server"), value: names.server(record.server_id) },
    { name: t("calls.tenant"), value: record.tenant_id ?? "–" },
    { name: t("calls.schema"), value: id(hash && `v${version ?? "?"} ${hash}`) },
    { name: t("calls.protocol"), value: record.protocol_version ?? "–" },
    { name: t("calls.generation"), value: record.connection_generation ?? "–" },
    { name: t("calls.session"), value: id(record.session_id) },
    { name: t("calls.key"), value: id(record.api_key_id) },
    { name: t("calls.trace"), value: id(record.trace_id) },
    { name: t("calls.span"), value: id(record.span_id) },
    { name: t("calls.id"), value: id(record.call_id) },
  ];
}
