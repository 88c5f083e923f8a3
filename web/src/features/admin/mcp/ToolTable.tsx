/** The tools of a server in the catalogue, and how each may be used. */

import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";

import { Badge } from "@/components/ui/Badge";
import { Button } from "@/components/ui/Button";
import { Table, type Column } from "@/components/ui/Table";
import { Tooltip } from "@/components/ui/Tooltip";
import { awaitsConfirmation } from "@/features/mcp/readOnly";

import { useChange } from "../parts/change";
import { Loaded } from "../parts/Loaded";
import { Problem } from "../parts/Problem";
import { DiffDialog } from "./DiffDialog";
import { catalogueQuery, MCP_KEYS, registry, type McpTool } from "./queries";
import { TimeLimit } from "./TimeLimit";
import { ToolDefinition } from "./ToolDefinition";

interface ToolTableProps {
  serverId: string;
  serverName: string;
}

export function ToolTable({ serverId, serverName }: ToolTableProps) {
  const { t } = useTranslation("mcpAdmin");
  const tools = useQuery(catalogueQuery({ server_id: serverId }));
  const [reviewed, setReviewed] = useState<McpTool | null>(null);
  const change = useChange(
    ({ tool, ...body }: { tool: McpTool } & Parameters<typeof registry.setTool>[1]) =>
      registry.setTool(tool.id, body),
    { keys: MCP_KEYS },
  );
  const switchOf = (
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
    { header: t("tools.name"), cell: (tool) => <ToolName tool={tool} onReview={setReviewed} /> },
    switchOf("enabled", "tools.enabled", "tools.enabledOf"),
    switchOf("retry_safe", "tools.retrySafe", "tools.retrySafeOf"),
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
              label={t("tools.label", { name: serverName })}
              columns={columns}
              rows={items}
              rowKey={(tool) => tool.id}
            />
            <p className="text-xs text-muted">{t("tools.retryHint")}</p>
            {reviewed && <DiffDialog tool={reviewed} onClose={() => setReviewed(null)} />}
          </>
        )
      }
    </Loaded>
  );
}

interface ToolNameProps {
  tool: McpTool;
  onReview: (tool: McpTool) => void;
}

function ToolName({ tool, onReview }: ToolNameProps) {
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
