/** What the tenants' section asks of the server. */

import { queryOptions } from "@tanstack/react-query";

import { api, call } from "@/api/client";

export const TENANTS = ["admin", "tenants"];

export const tenantsQuery = queryOptions({
  queryKey: [...TENANTS, "all"],
  queryFn: () => call(api.GET("/api/v1/tenants")),
});

export const membersQuery = (tenantId: string, offset: number, limit: number) =>
  queryOptions({
    queryKey: [...TENANTS, "members", tenantId, offset, limit],
    queryFn: () => {
      const params = { path: { tenant_id: tenantId }, query: { limit, offset } };
      return call(api.GET("/api/v1/tenants/{tenant_id}/users", { params }));
    },
  });

/** The names of the tools and agents that can be switched off. */
export const switchNamesQuery = queryOptions({
  queryKey: [...TENANTS, "switches"],
  queryFn: async () => {
    const [tools, agents] = await Promise.all([
      call(api.GET("/api/v1/tools")),
      call(api.GET("/api/v1/agents")),
    ]);
    return {
      tools: tools.items.map((tool) => tool.name),
      agents: agents.items.map((agent) => agent.name),
    };
  },
});
