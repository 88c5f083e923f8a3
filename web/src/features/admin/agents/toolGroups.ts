/** Tools to choose from, in groups: built in, then each MCP server's. Pure. */

interface ToolChoice {
  key: string;
  name: string;
  description: string;
}

export interface GroupedChoice extends ToolChoice {
  /** Null: built in. */
  serverId: string | null;
}

export interface ToolGroup {
  id: string;
  /** The name of the MCP server; null: built in. */
  server: string | null;
  tools: ToolChoice[];
}

/** `serverNames` by id; a server without a known name is called by its id. */
export function groupsOf(
  choices: readonly GroupedChoice[],
  serverNames: ReadonlyMap<string, string>,
): ToolGroup[] {
  const groups = new Map<string, ToolGroup>();
  for (const { serverId, ...choice } of choices) {
    const id = serverId ?? "";
    const server = serverId === null ? null : (serverNames.get(id) ?? id);
    const group = groups.get(id) ?? { id, server, tools: [] };
    group.tools.push(choice);
    groups.set(id, group);
  }
  return [...groups.values()].sort((a, b) => (a.server ?? "").localeCompare(b.server ?? ""));
}

/** The groups with only the tools that have every word of a search. */
export function searched(groups: readonly ToolGroup[], wanted: string): ToolGroup[] {
  const words = wanted.toLowerCase().split(/\s+/).filter(Boolean);
  const fits = (group: ToolGroup, tool: ToolChoice) => {
    const text = `${tool.name} ${tool.description} ${group.server ?? ""}`.toLowerCase();
    return words.every((word) => text.includes(word));
  };
  return groups
    .map((group) => ({ ...group, tools: group.tools.filter((tool) => fits(group, tool)) }))
    .filter((group) => group.tools.length > 0);
}
