/** What the users' section asks of the server. */

import { keepPreviousData, queryOptions } from "@tanstack/react-query";

import { api, call } from "@/api/client";

export const USERS = ["admin", "users"];
export const PAGE_SIZE = 50;

export const usersQuery = (search: string, offset: number) =>
  queryOptions({
    queryKey: [...USERS, "page", search, offset],
    queryFn: () =>
      call(
        api.GET("/api/users", {
          params: { query: { limit: PAGE_SIZE, offset, ...(search !== "" && { search }) } },
        }),
      ),
    placeholderData: keepPreviousData,
  });

export const keysQuery = (userId: string) =>
  queryOptions({
    queryKey: ["admin", "keys", userId],
    queryFn: () => call(api.GET("/api/v1/api-keys", { params: { query: { user_id: userId } } })),
  });

/** Never from the cache: they are saved as a whole, and would undo what was changed elsewhere. */
export const attributesQuery = (userId: string) =>
  queryOptions({
    queryKey: ["admin", "attributes", userId],
    queryFn: () =>
      call(
        api.GET("/api/v1/users/{user_id}/attributes", { params: { path: { user_id: userId } } }),
      ),
    staleTime: 0,
    gcTime: 0,
  });
