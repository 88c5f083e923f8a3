/** The cache of what the server answered, and the queries of several features. */

import { QueryClient, queryOptions, useQuery } from "@tanstack/react-query";

import { api, ApiError, call, type Schemas } from "./client";

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 15_000,
      retry: (count, error) => error instanceof ApiError && error.status === 0 && count < 2,
    },
  },
});

/** Who is logged in. */
export const meQuery = queryOptions({
  queryKey: ["me"],
  queryFn: () => call(api.GET("/api/auth/me")),
  staleTime: 60_000,
});

/** The agents to choose from. */
export const agentsQuery = queryOptions({
  queryKey: ["agents"],
  queryFn: () => call(api.GET("/api/agents")),
});

/** The skills that can be named with `/`. */
export const skillsQuery = queryOptions({
  queryKey: ["skills"],
  queryFn: () => call(api.GET("/api/skills")),
});

/** The data sources the user may see. */
export const sourcesQuery = queryOptions({
  queryKey: ["sources"],
  queryFn: () => call(api.GET("/api/v1/data-sources")),
});

/** The names of a source's tables. */
export function tablesQuery(sourceId: string) {
  return queryOptions({
    queryKey: ["sources", sourceId, "tables"],
    queryFn: ({ signal }) =>
      call(
        api.GET("/api/v1/data-sources/{source_id}/tables", {
          params: { path: { source_id: sourceId } },
          signal,
        }),
      ),
    staleTime: 60_000,
  });
}

/** The user's files. */
export const filesQuery = queryOptions({
  queryKey: ["files"],
  queryFn: () => call(api.GET("/api/files")),
});

/** What the installation says about itself: its model, its limits. */
export const infoQuery = queryOptions({
  queryKey: ["info"],
  queryFn: () => call(api.GET("/api/info")),
  staleTime: 300_000,
});

export type Me = Schemas["UserInfo"];

/** Who is logged in, for components. */
export function useMe(): Me | undefined {
  return useQuery(meQuery).data;
}
