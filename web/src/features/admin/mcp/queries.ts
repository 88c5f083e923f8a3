/** The registry of shared servers and its tools, as several parts of these sections use them. */

import { queryOptions } from "@tanstack/react-query";

import { api, call, type Schemas } from "@/api/client";

export type McpTool = Schemas["McpToolInfo"];

/** What changes of servers, tools, templates and lists invalidate. */
export const MCP_KEYS = [["mcp"], ["agents"], ["admin", "agents"]];
const MAX_TOOLS = 1000;

export const mcpToolsQuery = (filter: { server_id?: string; status?: McpTool["status"] }) =>
  queryOptions({
    queryKey: ["mcp", "tools", filter],
    queryFn: () =>
      call(api.GET("/api/v1/mcp/tools", { params: { query: { ...filter, limit: MAX_TOOLS } } })),
  });
