/** An agent's name as people know it. */

import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";

import { agentsQuery } from "@/api/queries";
import { agentWords } from "@/lib/agentWords";

/** The name for an agent's id; ids of agents that are not in the list are names themselves. */
export function useAgentName(agentId: string | null): string {
  const { t } = useTranslation("chat");
  const { data } = useQuery({ ...agentsQuery, enabled: agentId !== null });
  if (agentId === null) return "";
  const name = data?.items.find((each) => each.id === agentId)?.name ?? agentId;
  return agentWords({ id: agentId, name, description: "" }, t).name;
}
