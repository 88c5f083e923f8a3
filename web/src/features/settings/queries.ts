/** What the server keeps for the user who is logged in. */

import { queryOptions } from "@tanstack/react-query";

import { api, call } from "@/api/client";

const DAY_MS = 86_400_000;

export const keysQuery = queryOptions({
  queryKey: ["settings", "keys"],
  queryFn: () => call(api.GET("/api/v1/api-keys")),
});

export const invitationsQuery = queryOptions({
  queryKey: ["settings", "invitations"],
  queryFn: () => call(api.GET("/api/v1/invitations")),
});

export function memoryQuery(userId: string) {
  const params = { path: { user_id: userId } };
  return queryOptions({
    queryKey: ["settings", "memory", userId],
    queryFn: () => call(api.GET("/api/v1/users/{user_id}/memory", { params })),
  });
}

export function noteQuery(userId: string, assistantId: string, path: string) {
  const params = { path: { user_id: userId, assistant_id: assistantId, path } };
  return queryOptions({
    queryKey: ["settings", "memory", userId, assistantId, path],
    queryFn: () =>
      call(api.GET("/api/v1/users/{user_id}/memory/{assistant_id}/{path}", { params })),
  });
}

export function workspaceQuery(userId: string) {
  const params = { path: { user_id: userId } };
  return queryOptions({
    queryKey: ["settings", "workspace", userId],
    queryFn: () => call(api.GET("/api/v1/users/{user_id}/workspace", { params })),
  });
}

/** The last days, today among them. */
export function ownUsageQuery(days: number) {
  const from = new Date(Date.now() - (days - 1) * DAY_MS).toISOString().slice(0, 10);
  return queryOptions({
    queryKey: ["settings", "usage", from],
    queryFn: () => call(api.GET("/api/v1/usage", { params: { query: { from } } })),
  });
}
