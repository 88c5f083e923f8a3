/** An allow-list ↔ chosen tools. Null is no limit; an empty list is nothing at all. Pure. */

import type { Schemas } from "@/api/client";

import type { GroupedChoice } from "../agents/toolPicker";
import type { McpTool } from "./queries";

type ToolName = Schemas["AllowedTool"];

/** Null: not limited (a key only). */
export type Chosen = ReadonlySet<string> | null;

export function toolKey({ server_id: serverId, tool_name: name }: ToolName): string {
  return JSON.stringify([serverId, name]);
}

export function chosenOf(tools: readonly ToolName[] | null): Chosen {
  return tools === null ? null : new Set(tools.map(toolKey));
}

/**
 * What is sent. Tools that are no longer in the catalogue are left out: the server would refuse
 * them.
 */
export function toolsOf(chosen: Chosen, catalogue: readonly McpTool[]): ToolName[] | null {
  if (chosen === null) return null;
  return catalogue.map(nameOf).filter((each) => chosen.has(toolKey(each)));
}

function nameOf(tool: McpTool): ToolName {
  return { server_id: tool.server_id, tool_name: tool.name };
}

/** The tools of shared servers; one that is gone only where it is still on the list. */
export function choicesOf(
  catalogue: readonly McpTool[],
  sharedServers: ReadonlySet<string>,
  listed: Chosen,
): GroupedChoice[] {
  return catalogue
    .filter((tool) => sharedServers.has(tool.server_id))
    .map((tool) => ({ tool, key: toolKey(nameOf(tool)) }))
    .filter(({ tool, key }) => tool.status !== "removed" || listed?.has(key) === true)
    .map(({ tool, key }) => ({
      key,
      name: tool.name,
      description: tool.description,
      serverId: tool.server_id,
    }));
}

export function isSame(one: Chosen, other: Chosen): boolean {
  if (one === null || other === null) return one === other;
  return one.size === other.size && [...one].every((key) => other.has(key));
}
