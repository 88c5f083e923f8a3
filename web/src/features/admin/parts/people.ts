/** Who the ids in lists are. */

import { queryOptions, useQuery } from "@tanstack/react-query";

import { api, call, type Schemas } from "@/api/client";

export type User = Schemas["UserInfo"];

const MOST = 1000;
const NOBODY: User[] = [];

/** The accounts to choose from: the first thousand. */
export const everyoneQuery = queryOptions({
  queryKey: ["admin", "users", "all"],
  queryFn: () => call(api.GET("/api/users", { params: { query: { limit: MOST } } })),
  staleTime: 60_000,
});

export function usePeople(): User[] {
  return useQuery(everyoneQuery).data?.items ?? NOBODY;
}

/** An id → the name to show; the id itself where there is no such account (any more). */
export function useNameOf(): (userId: string) => string {
  const people = usePeople();
  const names = new Map(people.map((each) => [each.id, each.username]));
  return (userId) => names.get(userId) ?? userId;
}
