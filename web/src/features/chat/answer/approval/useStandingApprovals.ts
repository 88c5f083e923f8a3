/** Approves what the user has said "always" to in this conversation. One per page. */

import { useEffect, useRef } from "react";

import { activeTurn, openApprovals } from "@/events/state";

import type { Conversation } from "../../useConversation";
import { canStand, STANDING_NOTE } from "./kinds";
import { useStandingTools } from "./useStandingTools";

export function useStandingApprovals(conversation: Conversation): void {
  const tools = useStandingTools(conversation.id);
  const asked = useRef(new Set<string>());
  const turn = activeTurn(conversation.state);
  const { decide } = conversation;
  useEffect(() => {
    if (!turn?.runId || tools.length === 0) return;
    for (const part of openApprovals(turn)) {
      const isMine = tools.includes(part.action.name) && canStand(part);
      if (!isMine || asked.current.has(part.requestId)) continue;
      asked.current.add(part.requestId);
      const decision = { type: "approve" as const, message: STANDING_NOTE };
      decide(turn.runId, part.requestId, decision).catch(() => undefined); // the card is open then
    }
  }, [turn, tools, decide]);
}
