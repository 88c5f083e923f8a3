/** A conversation as the server keeps it. */

import { api, ApiError, call } from "@/api/client";
import type { ThreadHistory } from "@/events/history";

const PAGE = 1000;

/** The last page of a conversation, or the one before `before`; null when it does not exist yet. */
export async function loadHistory(
  conversationId: string,
  before?: number,
): Promise<ThreadHistory | null> {
  const threadId = await threadOf(conversationId);
  if (threadId === null) return null;
  const page =
    before === undefined
      ? {}
      : { offset: Math.max(0, before - PAGE), limit: Math.min(PAGE, before) };
  return call(
    api.GET("/api/threads/{thread_id}/history", {
      params: { path: { thread_id: threadId }, query: page },
    }),
  );
}

async function threadOf(conversationId: string): Promise<string | null> {
  try {
    const path = { conversation_id: conversationId };
    const found = await call(api.GET("/api/conversations/{conversation_id}", { params: { path } }));
    return found.thread_id;
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return null;
    throw error;
  }
}
