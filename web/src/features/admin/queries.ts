/** Queries that several sections use: to name a thing by its id, or to offer a choice of things. */

import { queryOptions } from "@tanstack/react-query";

import { api, call } from "@/api/client";
import { lookAgainMs } from "@/features/mcp/status";

export const TENANTS = ["admin", "tenants"];

export const tenantsQuery = queryOptions({
  queryKey: [...TENANTS, "all"],
  queryFn: () => call(api.GET("/api/v1/tenants")),
});

export const AGENTS = ["admin", "agents"];
const WHILE_BUSY_MS = 4_000;
const AT_REST_MS = 15_000;

export const allAgentsQuery = queryOptions({
  queryKey: [...AGENTS, "all"],
  queryFn: () => call(api.GET("/api/v1/agents")),
  refetchInterval: (query) =>
    query.state.data?.items.some((agent) => agent.status !== "IDLE") === true
      ? WHILE_BUSY_MS
      : AT_REST_MS,
});

export const userKeysQuery = (userId: string) =>
  queryOptions({
    queryKey: ["admin", "keys", userId],
    queryFn: () => call(api.GET("/api/v1/api-keys", { params: { query: { user_id: userId } } })),
  });

/** The registered MCP servers. */
export const registryQuery = queryOptions({
  queryKey: ["mcp", "registry"],
  queryFn: () => call(api.GET("/api/v1/mcp/servers")),
  refetchInterval: (query) => lookAgainMs(query.state.data?.items ?? []),
});
