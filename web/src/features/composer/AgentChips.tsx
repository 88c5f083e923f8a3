/** Who answers: one of the agents, or whoever fits the question. */

import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";

import { agentsQuery } from "@/api/queries";
import { AgentIcon } from "@/components/AgentIcon";
import { Tooltip } from "@/components/ui/Tooltip";
import { agentWords } from "@/lib/agentWords";
import { classes } from "@/lib/classes";

interface AgentChipsProps {
  chosen: string | null;
  onChoose: (agentId: string | null) => void;
}

export function AgentChips({ chosen, onChoose }: AgentChipsProps) {
  const { t } = useTranslation("chat");
  const agents = useQuery(agentsQuery).data?.items ?? [];
  const isKnown = agents.some((agent) => agent.id === chosen);
  const choices = [
    {
      id: null,
      icon: null,
      name: t("composer.automatic"),
      description: t("composer.automaticHint"),
    },
    ...agents.map((agent) => ({ ...agent, ...agentWords(agent, t) })),
  ];
  return (
    <div
      role="group"
      aria-label={t("composer.agents")}
      className="flex min-w-0 flex-1 gap-1 overflow-x-auto p-1 [scrollbar-width:none]"
    >
      {choices.map((agent) => {
        const isChosen = isKnown ? agent.id === chosen : agent.id === null;
        return (
          <Tooltip key={agent.id ?? "automatic"} text={agent.description}>
            <button
              type="button"
              aria-pressed={isChosen}
              onClick={() => onChoose(agent.id)}
              className={classes(
                "flex h-7 shrink-0 items-center gap-1.5 rounded-full border px-2.5 text-xs whitespace-nowrap",
                isChosen
                  ? "border-accent bg-accent-soft font-medium text-accent"
                  : "border-line text-muted hover:bg-sunken hover:text-text",
              )}
            >
              {agent.icon !== null && <AgentIcon name={agent.icon} className="size-3.5" />}
              {agent.name}
            </button>
          </Tooltip>
        );
      })}
    </div>
  );
}
