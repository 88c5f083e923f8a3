/** The tools that can be bound to an agent, in groups; users' own MCP tools are not bound. */

import { useQuery } from "@tanstack/react-query";

import { registryQuery } from "../mcp/queries";
import { toolsQuery } from "./queries";
import { groupsOf, type ToolGroup } from "./toolGroups";

export function useToolGroups(): { groups: ToolGroup[]; error: unknown; isLoading: boolean } {
  const tools = useQuery(toolsQuery);
  const servers = useQuery(registryQuery).data?.items ?? [];
  const own = new Set(
    servers.filter((each) => each.scope === "user").map((each) => each.server_id),
  );
  const names = new Map(servers.map((each) => [each.server_id, each.name]));
  const choices = (tools.data?.items ?? [])
    .filter((tool) => tool.server_id === null || !own.has(tool.server_id))
    .map(({ id, name, description, server_id: serverId }) => ({
      key: String(id),
      name,
      description,
      serverId,
    }));
  return { groups: groupsOf(choices, names), error: tools.error, isLoading: tools.isPending };
}
