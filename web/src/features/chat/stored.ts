/** A conversation as the server keeps it. */

import { api, ApiError, call } from "@/api/client";
import { queryClient } from "@/api/queries";
import type { ThreadHistory } from "@/events/history";
import { conversationQuery } from "@/features/conversations/queries";

const PAGE = 1000;

/** The last page of a conversation, or the one before `before`; null when it does not exist. */
export async function loadHistory(
  conversationId: string,
  before?: number,
): Promise<ThreadHistory | null> {
  const query =
    before === undefined
      ? {}
      : { offset: Math.max(0, before - PAGE), limit: Math.min(PAGE, before) };
  try {
    const path = { thread_id: await threadOf(conversationId) };
    return await call(api.GET("/api/threads/{thread_id}/history", { params: { path, query } }));
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return null;
    throw error;
  }
}

/**
 * A conversation's thread never changes: it is asked for once, together with what the page shows of
 * it.
 */
async function threadOf(conversationId: string): Promise<string> {
  const { queryKey } = conversationQuery(conversationId);
  const known = queryClient.getQueryData(queryKey);
  if (known) return known.thread_id;
  const path = { conversation_id: conversationId };
  const found = await call(api.GET("/api/conversations/{conversation_id}", { params: { path } }));
  queryClient.setQueryData(queryKey, found);
  return found.thread_id;
}
