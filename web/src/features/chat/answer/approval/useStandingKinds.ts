/** The kinds of calls that are approved without asking in a conversation. */

import { useCallback, useSyncExternalStore } from "react";

import { onStanding, standingKinds } from "./standing";

export function useStandingKinds(conversationId: string): readonly string[] {
  const read = useCallback(() => standingKinds(conversationId), [conversationId]);
  return useSyncExternalStore(onStanding, read);
}
