/** The tools that are approved without asking in a conversation. */

import { useCallback, useSyncExternalStore } from "react";

import { onStanding, standingTools } from "./standing";

export function useStandingTools(conversationId: string): readonly string[] {
  const read = useCallback(() => standingTools(conversationId), [conversationId]);
  return useSyncExternalStore(onStanding, read);
}
