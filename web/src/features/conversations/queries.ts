/** The user's conversations, a page at a time, and one by its id. */

import { infiniteQueryOptions, keepPreviousData, queryOptions } from "@tanstack/react-query";

import { api, call } from "@/api/client";

const PAGE = 50;

export function conversationsQuery(search: string) {
  return infiniteQueryOptions({
    queryKey: ["conversations", "list", search],
    queryFn: ({ pageParam }) => {
      const query = { limit: PAGE, offset: pageParam, ...(search !== "" && { search }) };
      return call(api.GET("/api/conversations", { params: { query } }));
    },
    initialPageParam: 0,
    getNextPageParam: (last, pages) => {
      const count = pages.reduce((sum, page) => sum + page.items.length, 0);
      return last.items.length > 0 && count < last.total ? count : null;
    },
    placeholderData: keepPreviousData,
  });
}

export function conversationQuery(conversationId: string) {
  const params = { path: { conversation_id: conversationId } };
  return queryOptions({
    queryKey: ["conversations", "one", conversationId],
    queryFn: () => call(api.GET("/api/conversations/{conversation_id}", { params })),
  });
}
