/** Our own agents in the user's language; everybody else's by the name they were given. */

import type { TFunction } from "i18next";

import type { chat } from "@/i18n/en/chat";

type Known = keyof (typeof chat)["agents"];

interface NamedAgent {
  id: string;
  name: string;
  description: string;
}

/** An agent's name and what it is for. */
export function agentWords(agent: NamedAgent, t: TFunction<"chat">): Omit<NamedAgent, "id"> {
  const key = `agents.${agent.id as Known}` as const;
  return {
    name: t(`${key}.name`, { defaultValue: agent.name }),
    description: t(`${key}.text`, { defaultValue: agent.description }),
  };
}
