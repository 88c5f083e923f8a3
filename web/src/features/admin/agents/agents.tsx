/** Agents: built in, from packages, and made here. */

import { useQuery } from "@tanstack/react-query";
import { Bot, Pencil, RotateCcw, Trash2 } from "lucide-react";
import { useId } from "react";
import { useTranslation } from "react-i18next";

import { api, ApiError, call, type Schemas } from "@/api/client";
import { infoQuery } from "@/api/queries";
import { AGENT_ICONS, AgentIcon, type AgentIconName } from "@/components/AgentIcon";
import { Badge, type Tone } from "@/components/ui/Badge";
import { Banner } from "@/components/ui/Banner";
import { EmptyState } from "@/components/ui/States";
import type { Column } from "@/components/ui/Table";
import { toast } from "@/components/ui/toast";
import { Tooltip } from "@/components/ui/Tooltip";
import { classes } from "@/lib/classes";
import { formatNumber } from "@/lib/format";

import { Problem } from "../kit/change";
import { checkbox, EditDialog, input, lines, PLAIN, row } from "../kit/form";
import { confirmed, ResourceList, Section, type RowAction } from "../kit/list";
import { AGENTS, allAgentsQuery } from "../queries";
import {
  agentFormOf,
  agentProblemsOf,
  AS_IT_CAME,
  createAgentBody,
  emptyAgentForm,
  updateAgentBody,
  type Agent,
} from "./agentForm";
import { AgentTools } from "./toolPicker";

const KEYS = [AGENTS, ["agents"], ["mcp", "allowlist"]];
const TONES = {
  IDLE: "neutral",
  WORKING: "accent",
  THINKING: "warn",
} as const satisfies Record<Agent["status"], Tone>;

const pathOf = (id: string) => ({ params: { path: { agent_id: id } } });
const updateAgent = (id: string, body: Schemas["AgentUpdate"]) =>
  call(api.PUT("/api/v1/agents/{agent_id}", { ...pathOf(id), body }));

export function AgentsSection() {
  const { t } = useTranslation("mcpAdmin");
  const agents = useQuery(allAgentsQuery);
  const menuOf = useAgentMenu();
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
  ];
  return (
    <Section
      title={t("agents.title")}
      text={t("agents.text")}
      add={{
        label: t("agents.add"),
        dialog: (close) => <AgentDialog agent={null} onClose={close} />,
      }}
    >
      <ResourceList
        label={t("agents.title")}
        query={agents}
        columns={columns}
        rowKey={(agent) => agent.id}
        buttons={(agent) => [
          {
            label: t("agents.edit", { name: agent.name }),
            icon: Pencil,
            dialog: (close) => <AgentDialog agent={agent} onClose={close} />,
          },
        ]}
        menu={(agent) => ({
          label: t("registry.moreFor", { name: agent.name }),
          actions: [menuOf(agent)],
        })}

        empty={<EmptyState icon={Bot} title={t("agents.none")} />}
      />
    </Section>
  );
}

/** An agent made here can be deleted, another one be reset to what it came with. */
function useAgentMenu(): (agent: Agent) => RowAction {
  const { t } = useTranslation("mcpAdmin");
  const { t: common } = useTranslation();
  return ({ id, name, kind }) =>
    kind === "custom"
      ? confirmed({
          label: common("delete"),
          icon: Trash2,
          isDanger: true,
          title: t("agents.deleteTitle", { name }),
          explanation: t("agents.deleteText"),
          run: () => call(api.DELETE("/api/v1/agents/{agent_id}", pathOf(id))),
          keys: KEYS,
          done: t("agents.deleted", { name }),
          problem: AgentProblemBanner,
        })
      : confirmed({
          label: t("agents.reset"),
          icon: RotateCcw,
          title: t("agents.resetTitle", { name }),
          explanation: t("agents.resetText"),
          run: () => updateAgent(id, AS_IT_CAME),
          keys: KEYS,
          done: t("agents.resetDone", { name }),
          problem: AgentProblemBanner,
        });
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

/** A busy agent is no mistake of the user: the banner says to wait. */
export function AgentProblemBanner({ error }: { error: unknown }) {
  const { t } = useTranslation("mcpAdmin");
  if (!(error instanceof ApiError && error.code === "agent_busy")) return <Problem error={error} />;
  return (
    <Banner kind="warn">
      <strong className="block font-medium">{t("agents.busy")}</strong>
      {t("agents.busyText")}
    </Banner>
  );
}

interface AgentDialogProps {
  /** Null: a new one. */
  agent: Agent | null;
  onClose: () => void;
}

function AgentDialog({ agent, onClose }: AgentDialogProps) {
  const { t } = useTranslation("mcpAdmin");
  const usualModel = useQuery(infoQuery).data?.model ?? "";
  const isNameFixed = agent !== null && agent.kind !== "custom";
  const finish = ({ name, ignoredToolIds: ids }: Schemas["AgentChanged"]) => {
    if (ids.length === 0) toast(t("agents.saved", { name }));
    else toast(t("agents.ignored", { count: ids.length, ids: ids.join(", ") }), { tone: "danger" });
    onClose();
  };
  return (
    <EditDialog
      width="wide"
      title={agent ? t("agents.editTitle", { name: agent.name }) : t("agents.addTitle")}
      initial={() => (agent ? agentFormOf(agent) : emptyAgentForm())}
      check={agentProblemsOf}
      fields={({ form, change, problems }) => [
        row([
          input("name", t("agents.fields.name"), {
            hint: isNameFixed ? t("agents.fields.nameFixed") : t("agents.fields.nameHint"),
            error: problems.name && t(`agents.problems.${problems.name}`),
            ...PLAIN,
            disabled: isNameFixed,
          }),
          input("model", t("agents.fields.model"), {
            hint: t("agents.fields.modelHint"),
            ...PLAIN,
            placeholder: usualModel,
            maxLength: 200,
          }),
        ]),
        lines("description", t("agents.fields.description"), {
          hint: t("agents.fields.descriptionHint"),
          rows: 2,
          className: "min-h-16",
          maxLength: 4000,
        }),
        lines("prompt", t("agents.fields.prompt"), {
          hint: t("agents.fields.promptHint"),
          rows: 6,
          maxLength: 100_000,
        }),
        <IconChoice value={form.icon} onChange={(icon) => change({ icon })} />,
        checkbox("isShown", t("agents.fields.shown")),
        <AgentTools
          canHaveAll={agent?.name === "general"}
          chosen={form.tools}
          onChange={(tools) => change({ tools })}
        />,
      ]}
      run={(form) =>
        agent
          ? updateAgent(agent.id, updateAgentBody(form, agent))
          : call(api.POST("/api/v1/agents", { body: createAgentBody(form) }))
      }
      keys={KEYS}
      onDone={finish}
      problem={AgentProblemBanner}
      onClose={onClose}
    />
  );
}

const ICON_NAMES = Object.keys(AGENT_ICONS) as AgentIconName[]; // the keys of a constant

interface IconChoiceProps {
  value: string;
  onChange: (name: AgentIconName) => void;
}

function IconChoice({ value, onChange }: IconChoiceProps) {
  const { t } = useTranslation("mcpAdmin");
  const group = useId();
  return (
    <fieldset>
      <legend className="mb-1.5 text-sm font-medium">{t("agents.fields.icon")}</legend>
      <div className="flex flex-wrap gap-1">
        {ICON_NAMES.map((name) => {
          const Icon = AGENT_ICONS[name];
          return (
            <Tooltip key={name} text={t(`agents.icons.${name}`)}>
              <label
                className={classes(
                  "grid size-9 cursor-pointer place-items-center rounded-lg border has-focus-visible:outline-2 has-focus-visible:outline-accent",
                  name === value
                    ? "border-accent bg-accent-soft text-accent"
                    : "border-line text-muted hover:bg-sunken",
                )}
              >
                <input
                  type="radio"
                  className="sr-only"
                  name={group}
                  aria-label={t(`agents.icons.${name}`)}
                  checked={name === value}
                  onChange={() => onChange(name)}
                />
                <Icon className="size-4" aria-hidden />
              </label>
            </Tooltip>
          );
        })}
      </div>
    </fieldset>
  );
}
