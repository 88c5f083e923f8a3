/** Names of tools and agents in the user's language. */

import { useQuery } from "@tanstack/react-query";
import type { TFunction } from "i18next";
import { useTranslation } from "react-i18next";

import { agentsQuery } from "@/api/queries";
import type { answer } from "@/i18n/en/answer";
import { agentWords } from "@/lib/agentWords";

type KnownTool = keyof (typeof answer)["tools"];

/** What the call does, in words; a tool that is not ours by its own name. */
export function toolWords(name: string, t: TFunction<"answer">): string {
  const known: string = t(`tools.${name as KnownTool}`, { defaultValue: "" }); // an unknown key gives ""
  if (known !== "") return known;
  const [alias, ...rest] = name.split("__");
  if (rest.length > 0) return `${spaced(rest.join("__"))} · ${alias ?? ""}`;
  return spaced(name);
}

/** The kind of a call: its tool in words, and what a command or request begins with. */
export function kindWords(kind: string, t: TFunction<"answer">): string {
  const [, tool = kind, begin] = /^(.+?): (.+)$/s.exec(kind) ?? [];
  return begin === undefined ? toolWords(tool, t) : `${toolWords(tool, t)}: ${begin} …`;
}

type KnownApproval = keyof (typeof answer)["approval"]["about"];

/**
 * What approving a call means, in the user's language; of a tool that is not ours as the server
 * says it.
 */
export function approvalWords(
  { name, description }: { name: string; description: string },
  t: TFunction<"answer">,
): string {
  const key = `approval.about.${name as KnownApproval}` as const;
  return t(key, { defaultValue: description });
}

function spaced(name: string): string {
  const words = name.replace(/[_-]+/g, " ").trim();
  return words === "" ? name : words.charAt(0).toUpperCase() + words.slice(1);
}

/** The name for an agent's id; ids of agents that are not in the list are names themselves. */
export function useAgentName(agentId: string | null): string {
  const { t } = useTranslation("chat");
  const { data } = useQuery({ ...agentsQuery, enabled: agentId !== null });
  if (agentId === null) return "";
  const name = data?.items.find((each) => each.id === agentId)?.name ?? agentId;
  return agentWords({ id: agentId, name, description: "" }, t).name;
}
