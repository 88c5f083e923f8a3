/** Approves what the user has said "always" to in this conversation. One per page. */

import { useEffect, useRef } from "react";

import { activeTurn, openApprovals } from "@/events/state";

import type { Conversation } from "../../useConversation";
import { standingKind, STANDING_NOTE } from "./kinds";
import { useStandingKinds } from "./useStandingKinds";

export function useStandingApprovals(conversation: Conversation): void {
  const kinds = useStandingKinds(conversation.id);
  const asked = useRef(new Set<string>());
  const turn = activeTurn(conversation.state);
  const { decide } = conversation;
  useEffect(() => {
    if (!turn?.runId || kinds.length === 0) return;
    for (const part of openApprovals(turn)) {
      const kind = standingKind(part);
      if (kind === null || !kinds.includes(kind) || asked.current.has(part.requestId)) continue;
      asked.current.add(part.requestId);
      const decision = { type: "approve" as const, message: STANDING_NOTE };
      decide(turn.runId, part.requestId, decision).catch(() => undefined); // the card is open then
    }
  }, [turn, kinds, decide]);
}
