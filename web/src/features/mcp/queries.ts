/** What the server knows of MCP servers, for their user. */

import { queryOptions } from "@tanstack/react-query";

import { api, call, type Schemas } from "@/api/client";
import { queryClient } from "@/api/queries";

import { lookAgainMs } from "./status";

export type UserServer = Schemas["MCPServerConfigResponse"];
export type Template = Schemas["TemplateInfo"];
export type Trial = Schemas["TrialInfo"];

export function userServersQuery(userId: string) {
  return queryOptions({
    queryKey: ["mcp", "own", userId],
    queryFn: () =>
      call(
        api.GET("/api/v1/users/{user_id}/mcp-servers", {
          params: { path: { user_id: userId }, query: { include: "shared" } },
        }),
      ),
    refetchInterval: (query) => lookAgainMs(query.state.data?.items ?? []),
  });
}

export const templatesQuery = queryOptions({
  queryKey: ["mcp", "templates"],
  queryFn: () => call(api.GET("/api/v1/mcp/templates")),
});

const one = (userId: string, name: string) => ({
  params: { path: { user_id: userId, server_name: name } },
});

export function addServer(
  userId: string,
  body: Schemas["MCPServerConfigRequest"],
): Promise<UserServer> {
  const params = { path: { user_id: userId } };
  return call(api.POST("/api/v1/users/{user_id}/mcp-servers", { params, body }));
}

export function changeServer(
  userId: string,
  name: string,
  body: Schemas["UserServerUpdate"],
): Promise<UserServer> {
  return call(
    api.PUT("/api/v1/users/{user_id}/mcp-servers/{server_name}", { ...one(userId, name), body }),
  );
}

export function deleteServer(userId: string, name: string): Promise<unknown> {
  return call(api.DELETE("/api/v1/users/{user_id}/mcp-servers/{server_name}", one(userId, name)));
}

export function testServer(userId: string, name: string): Promise<Trial> {
  return call(
    api.POST("/api/v1/users/{user_id}/mcp-servers/{server_name}/test", one(userId, name)),
  );
}

export function setCredentials(
  userId: string,
  name: string,
  body: Schemas["CredentialsBody"],
): Promise<UserServer> {
  return call(
    api.PUT("/api/v1/users/{user_id}/mcp-servers/{server_name}/credentials", {
      ...one(userId, name),
      body,
    }),
  );
}

/** Lets a tool be used as it is defined, and believes it if it says that it only reads. */
export function approveTool(toolId: number, definitionHash: string): Promise<unknown> {
  return call(
    api.POST("/api/v1/mcp/tools/{tool_id}/approve", {
      params: { path: { tool_id: toolId } },
      body: { definition_hash: definitionHash },
    }),
  );
}

/** Everything about MCP is asked for again. */
export async function refreshMcp(): Promise<void> {
  await queryClient.invalidateQueries({ queryKey: ["mcp"] });
}
