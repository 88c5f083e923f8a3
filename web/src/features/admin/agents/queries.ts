/** Agents and what can be bound to them, for administrators. */

import { queryOptions } from "@tanstack/react-query";

import { api, call, type Schemas } from "@/api/client";

export const AGENTS = ["admin", "agents"];
export const AGENT_KEYS = [AGENTS, ["agents"], ["mcp", "allowlist"]];

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

export const toolsQuery = queryOptions({
  queryKey: [...AGENTS, "tools"],
  queryFn: () => call(api.GET("/api/v1/tools")),
});

const one = (id: string) => ({ params: { path: { agent_id: id } } });

export const agentStore = {
  create: (body: Schemas["AgentCreate"]) => call(api.POST("/api/v1/agents", { body })),
  update: (id: string, body: Schemas["AgentUpdate"]) =>
    call(api.PUT("/api/v1/agents/{agent_id}", { ...one(id), body })),
  remove: (id: string) => call(api.DELETE("/api/v1/agents/{agent_id}", one(id))),
};
