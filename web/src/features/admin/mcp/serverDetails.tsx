/** One server of the registry: its state, how it is reached, and its tools. */

import { useQuery } from "@tanstack/react-query";
import { ChevronRight, FlaskConical, RefreshCw } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";

import { api, call, type Schemas } from "@/api/client";
import { Badge } from "@/components/ui/Badge";
import { Button } from "@/components/ui/Button";
import { Dialog } from "@/components/ui/Dialog";
import { Input } from "@/components/ui/Field";
import { Table, type Column } from "@/components/ui/Table";
import { Tooltip } from "@/components/ui/Tooltip";
import { formatCommandLine } from "@/features/mcp/commandLine";
import { StatusBadge, StatusDetail, TrialPanel } from "@/features/mcp/ServerState";
import { awaitsConfirmation } from "@/features/mcp/status";
import type { TrialState } from "@/features/mcp/useTrials";
import { formatDateTime, formatNumber } from "@/lib/format";

import { Problem, useChange } from "../kit/change";
import { useDialog } from "../kit/list";
import { Facts, Loaded, type Fact } from "../kit/load";
import { useNameOf } from "../kit/people";
import { tenantsQuery } from "../queries";
import { DiffDialog } from "./diff";
import { MCP_KEYS, mcpToolsQuery, type McpTool } from "./queries";
import type { SharedServer } from "./sharedForm";

/** Whose a server is, as text. */
export function useWhose(): (server: SharedServer) => string {
  const { t } = useTranslation("mcpAdmin");
  const nameOf = useNameOf();
  const tenants = useQuery(tenantsQuery).data?.items ?? [];
  return ({ scope, tenant_id: tenantId, user_id: userId }) => {
    if (scope === "user") return t("registry.userOf", { name: nameOf(userId ?? "") });
    if (scope !== "tenant") return t("registry.everyone");
    const tenant = tenants.find((each) => each.tenant_id === tenantId);
    return t("registry.tenantOf", { name: tenant?.name ?? tenantId ?? "" });
  };
}

interface ServerDetailsProps {
  server: SharedServer;
  trial: TrialState | undefined;
  onTest: () => void;
  onRefresh: () => void;
  onClose: () => void;
}

export function ServerDetails(props: ServerDetailsProps) {
  const { t } = useTranslation("mcpAdmin");
  const { server, trial } = props;
  const isRunning = trial?.isRunning ?? false;
  return (
    <Dialog isOpen onClose={props.onClose} title={server.name} width="wide">
      <div className="grid gap-5 pb-4">
        <div className="flex flex-wrap items-center gap-2">
          <StatusBadge server={server} />
          <span className="flex-1" />
          <Button size="small" disabled={server.disabled || isRunning} onClick={props.onTest}>
            <FlaskConical className="size-3.5" aria-hidden />
            {t("registry.test")}
          </Button>
          <Button size="small" disabled={server.disabled || isRunning} onClick={props.onRefresh}>
            <RefreshCw className="size-3.5" aria-hidden />
            {t("registry.refresh")}
          </Button>
        </div>
        {(trial === undefined || trial.trial?.ok === true) && <StatusDetail server={server} />}
        <TrialPanel name={server.name} state={trial} />
        <ServerFacts server={server} />
        <section className="grid gap-2" aria-label={t("details.toolsTitle")}>
          <h3 className="font-medium">{t("details.toolsTitle")}</h3>
          <ToolTable server={server} />
        </section>
      </div>
    </Dialog>
  );
}

/** How a server is registered and how it has been lately. */
function ServerFacts({ server }: { server: SharedServer }) {
  const { t } = useTranslation("mcpAdmin");
  const { t: mcp } = useTranslation("mcp");
  const whose = useWhose();
  const { command, args, url, last_ok_at: lastOk, next_retry_at: nextRetry } = server;
  const secrets = [...Object.keys(server.headers), ...Object.keys(server.env)];
  const software = [server.server_info?.["name"], server.server_info?.["version"]]
    .filter((each) => typeof each === "string")
    .join(" ");
  const facts: (Fact | false)[] = [
    { name: t("registry.whose"), value: whose(server) },
    command === null
      ? { name: t("details.address"), value: <code>{url}</code> }
      : { name: t("details.command"), value: <code>{formatCommandLine({ command, args })}</code> },
    { name: t("details.transport"), value: mcp(`transports.${server.transport}`) },
    { name: t("details.secrets"), value: secrets.join(", ") || t("details.none") },
    { name: t("details.alias"), value: <code>{server.alias}</code> },
    { name: t("details.version"), value: server.protocol_version ?? "–" },
    { name: t("details.software"), value: software || "–" },
    {
      name: t("details.lastOk"),
      value: lastOk === null ? t("details.never") : formatDateTime(lastOk),
    },
    { name: t("details.failCount"), value: formatNumber(server.fail_count) },
    nextRetry !== null && { name: t("details.nextRetry"), value: formatDateTime(nextRetry) },
    {
      name: t("details.connection"),
      value: t(`server.sessionScopes.${server.session_scope}`),
    },
    { name: t("details.concurrency"), value: formatNumber(server.max_concurrency) },
    { name: t("details.onChange"), value: t(`server.onChanges.${server.on_change}`) },
    { name: t("details.id"), value: <code className="text-xs">{server.server_id}</code> },
  ];
  return <Facts facts={facts.filter((fact) => fact !== false)} />;
}

/** The tools of a server in the catalogue, and how each may be used. */
function ToolTable({ server }: { server: SharedServer }) {
  const { t } = useTranslation("mcpAdmin");
  const tools = useQuery(mcpToolsQuery({ server_id: server.server_id }));
  const [opened, open] = useDialog();
  const change = useChange(
    ({ tool, ...body }: { tool: McpTool } & Schemas["McpToolUpdate"]) => {
      const params = { path: { tool_id: tool.id } };
      return call(api.PATCH("/api/v1/mcp/tools/{tool_id}", { params, body }));
    },
    { keys: MCP_KEYS },
  );
  const review = (tool: McpTool) => open((close) => <DiffDialog tool={tool} onClose={close} />);
  const switchColumn = (
    field: "enabled" | "retry_safe",
    header: "tools.enabled" | "tools.retrySafe",
    label: "tools.enabledOf" | "tools.retrySafeOf",
  ): Column<McpTool> => ({
    header: t(header),
    cell: (tool) => (
      <input
        type="checkbox"
        className="size-4 accent-accent"
        aria-label={t(label, { name: tool.name })}
        checked={tool[field]}
        disabled={tool.status === "removed" || change.isPending}
        onChange={(event) => change.mutate({ tool, [field]: event.target.checked })}
      />
    ),
  });
  const columns: Column<McpTool>[] = [
    { header: t("tools.name"), cell: (tool) => <ToolCell tool={tool} onReview={review} /> },
    switchColumn("enabled", "tools.enabled", "tools.enabledOf"),
    switchColumn("retry_safe", "tools.retrySafe", "tools.retrySafeOf"),
    {
      header: t("tools.timeout"),
      cell: (tool) => (
        <TimeLimit
          key={String(tool.timeout)}
          tool={tool}
          onChange={(timeout) => change.mutate({ tool, timeout })}
        />
      ),
    },
  ];
  return (
    <Loaded query={tools}>
      {({ items }) =>
        items.length === 0 ? (
          <p className="text-sm text-muted">{t("tools.none")}</p>
        ) : (
          <>
            <Problem error={change.error} />
            <Table
              label={t("tools.label", { name: server.name })}
              columns={columns}
              rows={items}
              rowKey={(tool) => tool.id}
            />
            <p className="text-xs text-muted">{t("tools.retryHint")}</p>
            {opened}
          </>
        )
      }
    </Loaded>
  );
}

interface ToolCellProps {
  tool: McpTool;
  onReview: (tool: McpTool) => void;
}

function ToolCell({ tool, onReview }: ToolCellProps) {
  const { t } = useTranslation("mcpAdmin");
  return (
    <div className="min-w-52">
      <div className="flex flex-wrap items-center gap-2">
        <code className="font-mono text-[13px] [overflow-wrap:anywhere]">{tool.name}</code>
        <span className="text-xs text-muted">
          {t("tools.version", { version: tool.schema_version })}
        </span>
        {tool.status !== "active" && (
          <Badge tone="warn">{t(`tools.statuses.${tool.status}`)}</Badge>
        )}
        {tool.asks_first && (
          <Tooltip text={t("tools.asksFirstHint")}>
            <span tabIndex={0}>
              <Badge>{t("tools.asksFirst")}</Badge>
            </span>
          </Tooltip>
        )}
        {(tool.status === "quarantined" || awaitsConfirmation(tool)) && (
          <Button
            size="small"
            aria-label={t("tools.reviewTool", { name: tool.name })}
            onClick={() => onReview(tool)}
          >
            {t("tools.review")}
          </Button>
        )}
      </div>
      <ToolDefinition tool={tool} />
    </div>
  );
}

/** A tool's description, and on demand what goes in and comes out. */
function ToolDefinition({ tool }: { tool: McpTool }) {
  const { t } = useTranslation("mcpAdmin");
  const { t: mcp } = useTranslation("mcp");
  const schema = (title: string, value: object) => (
    <div>
      <p className="text-muted">{title}</p>
      <pre
        tabIndex={0}
        className="max-h-48 overflow-auto rounded-md bg-sunken p-2 font-mono whitespace-pre-wrap"
      >
        {JSON.stringify(value, null, 2)}
      </pre>
    </div>
  );
  return (
    <details className="group text-xs">
      <summary className="flex list-none items-start gap-1 text-muted [&::-webkit-details-marker]:hidden">
        <ChevronRight
          className="mt-0.5 size-3.5 shrink-0 transition-transform group-open:rotate-90"
          aria-hidden
        />
        <span className="line-clamp-2 [overflow-wrap:anywhere] group-open:line-clamp-none">
          {tool.description || mcp("noDescription")}
        </span>
      </summary>
      <div className="grid gap-2 pt-2">
        {schema(t("tools.input"), tool.input_schema)}
        {tool.output_schema !== null && schema(t("tools.output"), tool.output_schema)}
      </div>
    </details>
  );
}

interface TimeLimitProps {
  tool: McpTool;
  onChange: (seconds: number | null) => void;
}

const MAX_SECONDS = 3600;

/** The seconds a tool may take; empty is its server's. Saved on leaving the field, or on Enter. */
function TimeLimit({ tool, onChange }: TimeLimitProps) {
  const { t } = useTranslation("mcpAdmin");
  const { t: mcp } = useTranslation("mcp");
  const [text, setText] = useState(tool.timeout === null ? "" : String(tool.timeout));
  const seconds = text.trim() === "" ? null : Number(text);
  const isWrong = seconds !== null && !(seconds > 0 && seconds <= MAX_SECONDS);
  const save = () => {
    if (!isWrong && seconds !== tool.timeout) onChange(seconds);
  };
  return (
    <>
      <Input
        className="w-24"
        inputMode="decimal"
        aria-label={t("tools.timeoutOf", { name: tool.name })}
        placeholder={t("tools.serverTimeout")}
        value={text}
        aria-invalid={isWrong || undefined}
        disabled={tool.status === "removed"}
        onChange={(event) => setText(event.target.value)}
        onBlur={save}
        onKeyDown={(event) => event.key === "Enter" && save()}
      />
      {isWrong && (
        <p role="alert" className="text-xs text-danger">
          {mcp("problems.badSeconds")}
        </p>
      )}
    </>
  );
}
