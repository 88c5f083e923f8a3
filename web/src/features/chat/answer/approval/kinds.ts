/** What kind of request an approval is. Pure. */

import { isQuestion, type ApprovalPart } from "@/events/state";
import type { Decision } from "@/events/types";

/**
 * What a decision that nobody made by hand carries: it is kept with the run and told apart by it.
 */
export const STANDING_NOTE = "Approved by the user for the whole conversation before.";
/** What the decision carries with which a person says "always". */
export const ALWAYS_NOTE = "Approved by the user, from now on for the whole conversation.";

/** Which words tell how it was approved: by hand, by hand and for ever, or by itself. */
export function approvedHow(decision: Decision | null): "byHand" | "always" | "automatic" {
  if (decision?.type !== "approve") return "byHand";
  if (decision.message === ALWAYS_NOTE) return "always";
  return decision.message === STANDING_NOTE ? "automatic" : "byHand";
}

/** What "always" would cover as this request's answer; null where it is not offered. */
export function standingKind(part: ApprovalPart): string | null {
  const canStand = part.allowed.includes("approve") && !isQuestion(part);
  return canStand ? (part.action.kind ?? null) : null;
}
