/**
 * The registry of shared servers, its tools, templates, allow-lists and calls, for administrators.
 */

import { keepPreviousData, queryOptions } from "@tanstack/react-query";

import { api, call, type Schemas } from "@/api/client";
import { lookAgainMs } from "@/features/mcp/status";

import type { CallQuery } from "./callFilters";

export type McpTool = Schemas["McpToolInfo"];
export type McpCall = Schemas["CallInfo"];
export type ToolName = Schemas["AllowedTool"];

const ALL = 1000;

export const registryQuery = queryOptions({
  queryKey: ["mcp", "registry"],
  queryFn: () => call(api.GET("/api/v1/mcp/servers")),
  refetchInterval: (query) => lookAgainMs(query.state.data?.items ?? []),
});

export function catalogueQuery(filter: { server_id?: string; status?: McpTool["status"] }) {
  return queryOptions({
    queryKey: ["mcp", "tools", filter],
    queryFn: () =>
      call(api.GET("/api/v1/mcp/tools", { params: { query: { ...filter, limit: ALL } } })),
  });
}

/** What was looked at stays until it is approved: a newer definition is refused, and shown then. */
export function diffQuery(toolId: number) {
  return queryOptions({
    queryKey: ["mcp", "diff", toolId],
    queryFn: () =>
      call(api.GET("/api/v1/mcp/tools/{tool_id}/diff", { params: { path: { tool_id: toolId } } })),
    staleTime: 0,
    gcTime: 0,
    refetchOnWindowFocus: false,
    refetchOnReconnect: false,
  });
}

export type Subject = { agent_id: string } | { api_key_id: string };

export function allowlistQuery(subject: Subject) {
  return queryOptions({
    queryKey: ["mcp", "allowlist", subject],
    queryFn: () => call(api.GET("/api/v1/mcp/allowlists", { params: { query: subject } })),
  });
}

export function callsQuery(query: CallQuery) {
  return queryOptions({
    queryKey: ["mcp", "calls", query],
    queryFn: () => call(api.GET("/api/v1/mcp/calls", { params: { query } })),
    placeholderData: keepPreviousData,
  });
}

/** What changes of servers, tools, templates and lists make old. */
export const MCP_KEYS = [["mcp"], ["agents"], ["admin", "agents"]];

const server = (id: string) => ({ params: { path: { server_id: id } } });
const tool = (id: number) => ({ params: { path: { tool_id: id } } });

export const registry = {
  create: (body: Schemas["SharedServerCreate"]) => call(api.POST("/api/v1/mcp/servers", { body })),
  update: (id: string, body: Schemas["SharedServerUpdate"]) =>
    call(api.PUT("/api/v1/mcp/servers/{server_id}", { ...server(id), body })),
  remove: (id: string) => call(api.DELETE("/api/v1/mcp/servers/{server_id}", server(id))),
  enable: (id: string) => call(api.POST("/api/v1/mcp/servers/{server_id}/enable", server(id))),
  disable: (id: string) => call(api.POST("/api/v1/mcp/servers/{server_id}/disable", server(id))),
  refresh: (id: string) => call(api.POST("/api/v1/mcp/servers/{server_id}/refresh", server(id))),
  test: (id: string) => call(api.POST("/api/v1/mcp/servers/{server_id}/test", server(id))),
  setTool: (id: number, body: Schemas["McpToolUpdate"]) =>
    call(api.PATCH("/api/v1/mcp/tools/{tool_id}", { ...tool(id), body })),
  approve: (id: number, definitionHash: string) =>
    call(
      api.POST("/api/v1/mcp/tools/{tool_id}/approve", {
        ...tool(id),
        body: { definition_hash: definitionHash },
      }),
    ),
  allow: (subject: Subject, tools: ToolName[] | null) =>
    call(api.PUT("/api/v1/mcp/allowlists", { body: { ...subject, tools } })),
};

const template = (id: string) => ({ params: { path: { template_id: id } } });

export const templates = {
  create: (body: Schemas["TemplateBody"]) => call(api.POST("/api/v1/mcp/templates", { body })),
  replace: (id: string, body: Schemas["TemplateBody"]) =>
    call(api.PUT("/api/v1/mcp/templates/{template_id}", { ...template(id), body })),
  remove: (id: string) => call(api.DELETE("/api/v1/mcp/templates/{template_id}", template(id))),
};
