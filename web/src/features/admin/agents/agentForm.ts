/** The form of an agent ↔ what the server takes. Pure. */

import type { Schemas } from "@/api/client";

export type Agent = Schemas["AgentInfo"];

interface AgentForm {
  name: string;
  description: string;
  prompt: string;
  model: string;
  icon: string;
  isShown: boolean;
  /** Numbers of tools, as text. */
  tools: ReadonlySet<string>;
}

type AgentProblem = "needed" | "badName";
type AgentProblems = Partial<Record<"name", AgentProblem>>;

const NAME = /^[a-z0-9][a-z0-9_-]{0,63}$/;

export function emptyAgentForm(): AgentForm {
  return {
    name: "",
    description: "",
    prompt: "",
    model: "",
    icon: "bot",
    isShown: true,
    tools: new Set(),
  };
}

export function agentFormOf(agent: Agent): AgentForm {
  return {
    name: agent.name,
    description: agent.description,
    prompt: agent.system_prompt ?? "",
    model: agent.model ?? "",
    icon: agent.icon,
    isShown: agent.show_in_selector,
    tools: new Set(agent.toolIds.map(String)),
  };
}

export function agentProblemsOf(form: AgentForm): AgentProblems {
  if (form.name === "") return { name: "needed" };
  return NAME.test(form.name) ? {} : { name: "badName" };
}

export function createAgentBody(form: AgentForm): Schemas["AgentCreate"] {
  return {
    name: form.name,
    description: form.description.trim(),
    system_prompt: orNull(form.prompt),
    model: orNull(form.model),
    icon: form.icon,
    show_in_selector: form.isShown,
    toolIds: numbersOf(form.tools),
  };
}

/**
 * Only what differs, so that what a built-in agent came with is not fixed by saving something else.
 */
export function updateAgentBody(form: AgentForm, known: Agent): Schemas["AgentUpdate"] {
  const before = agentFormOf(known);
  const body: Schemas["AgentUpdate"] = {};
  if (form.name !== before.name) body.name = form.name;
  if (form.description.trim() !== before.description.trim())
    body.description = form.description.trim();
  if (form.prompt !== before.prompt) body.system_prompt = orNull(form.prompt);
  if (form.model.trim() !== before.model) body.model = orNull(form.model);
  if (form.icon !== before.icon) body.icon = form.icon;
  if (form.isShown !== before.isShown) body.show_in_selector = form.isShown;
  if (!isSameSet(form.tools, before.tools)) body.toolIds = numbersOf(form.tools);
  return body;
}

/** What a built-in or package agent came with, in everything. */
export const AS_IT_CAME: Schemas["AgentUpdate"] = {
  description: null,
  system_prompt: null,
  model: null,
  icon: null,
  show_in_selector: null,
  toolIds: null,
};

function orNull(text: string): string | null {
  return text.trim() === "" ? null : text.trim();
}

function numbersOf(tools: ReadonlySet<string>): number[] {
  return [...tools].map(Number).toSorted((a, b) => a - b);
}

function isSameSet(one: ReadonlySet<string>, other: ReadonlySet<string>): boolean {
  return one.size === other.size && [...one].every((each) => other.has(each));
}
