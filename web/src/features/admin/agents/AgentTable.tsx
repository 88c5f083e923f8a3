/** The agents: what they are, how they are, what can be done. */

import { Ellipsis, Pencil, RotateCcw, Trash2 } from "lucide-react";
import { useTranslation } from "react-i18next";

import { AgentIcon } from "@/components/AgentIcon";
import { Badge, type Tone } from "@/components/ui/Badge";
import { Button } from "@/components/ui/Button";
import { Menu, MenuItem } from "@/components/ui/Menu";
import { Table, type Column } from "@/components/ui/Table";
import { formatNumber } from "@/lib/format";

import type { Agent } from "./agentForm";

const TONES = {
  IDLE: "neutral",
  WORKING: "accent",
  THINKING: "warn",
} as const satisfies Record<Agent["status"], Tone>;

export interface AgentTableProps {
  agents: Agent[];
  onOpen: (dialog: "edit" | "reset" | "delete", agent: Agent) => void;
}

export function AgentTable({ agents, onOpen }: AgentTableProps) {
  const { t } = useTranslation("mcpAdmin");
  const columns: Column<Agent>[] = [
    { header: t("agents.name"), cell: (agent) => <AgentName agent={agent} /> },
    {
      header: t("agents.kind"),
      cell: (agent) => <span className="whitespace-nowrap">{t(`agents.kinds.${agent.kind}`)}</span>,
      isMinor: true,
    },
    {
      header: t("agents.status"),
      cell: (agent) => (
        <Badge tone={TONES[agent.status]}>{t(`agents.statuses.${agent.status}`)}</Badge>
      ),
    },
    {
      header: t("agents.tools"),
      cell: (agent) => formatNumber(agent.toolIds.length),
      isMinor: true,
    },
    {
      header: t("agents.actions"),
      isRight: true,
      cell: (agent) => <AgentMenu agent={agent} onOpen={onOpen} />,
    },
  ];
  return (
    <Table label={t("agents.title")} columns={columns} rows={agents} rowKey={(agent) => agent.id} />
  );
}

function AgentName({ agent }: { agent: Agent }) {
  const { t } = useTranslation("mcpAdmin");
  return (
    <div className="flex items-start gap-2.5">
      <span className="mt-0.5 grid size-7 shrink-0 place-items-center rounded-lg bg-sunken">
        <AgentIcon name={agent.icon} className="size-4 text-muted" />
      </span>
      <div className="min-w-0">
        <div className="flex flex-wrap items-center gap-2">
          <span className="font-medium [overflow-wrap:anywhere]">{agent.name}</span>
          {!agent.show_in_selector && <Badge>{t("agents.hidden")}</Badge>}
        </div>
        <p className="line-clamp-2 text-xs text-muted [overflow-wrap:anywhere]">
          {agent.description}
        </p>
      </div>
    </div>
  );
}

function AgentMenu({ agent, onOpen }: Pick<AgentTableProps, "onOpen"> & { agent: Agent }) {
  const { t } = useTranslation("mcpAdmin");
  const { t: common } = useTranslation();
  return (
    <span className="inline-flex items-center">
      <Button
        size="smallIcon"
        variant="ghost"
        aria-label={t("agents.edit", { name: agent.name })}
        onClick={() => onOpen("edit", agent)}
      >
        <Pencil className="size-4" aria-hidden />
      </Button>
      <Menu
        trigger={
          <Button
            size="smallIcon"
            variant="ghost"
            aria-label={t("registry.moreFor", { name: agent.name })}
          >
            <Ellipsis className="size-4" aria-hidden />
          </Button>
        }
      >
        {agent.kind === "custom" ? (
          <MenuItem icon={Trash2} isDanger onSelect={() => onOpen("delete", agent)}>
            {common("delete")}
          </MenuItem>
        ) : (
          <MenuItem icon={RotateCcw} onSelect={() => onOpen("reset", agent)}>
            {t("agents.reset")}
          </MenuItem>
        )}
      </Menu>
    </span>
  );
}
