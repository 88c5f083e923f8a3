/** Approvals that stand for the rest of a conversation: every call of a kind. */

import { ShieldAlert, X } from "lucide-react";
import { useCallback, useEffect, useRef, useSyncExternalStore } from "react";
import { useTranslation } from "react-i18next";

import { IconButton } from "@/components/ui/Button";
import { activeTurn, isQuestion, openApprovals, type ApprovalPart } from "@/events/state";
import type { Decision } from "@/events/types";
import { conversationKey, readStored, writeStored } from "@/lib/store";

import type { Conversation } from "../../useConversation";
import { kindWords } from "../words";

const NONE: readonly string[] = [];
const known = new Map<string, { written: string; kinds: readonly string[] }>();
const listeners = new Set<() => void>();

/** The kinds, in the order in which they were added; the same list until it changes. */
export function standingKinds(conversationId: string): readonly string[] {
  const written = readStored(conversationKey("always", conversationId));
  if (written === null) return NONE;
  const before = known.get(conversationId);
  if (before?.written === written) return before.kinds;
  const kinds = parsed(written);
  known.set(conversationId, { written, kinds });
  return kinds;
}

function parsed(written: string): readonly string[] {
  try {
    const kinds: unknown = JSON.parse(written);
    return Array.isArray(kinds) ? kinds.filter((each) => typeof each === "string") : NONE;
  } catch {
    return NONE;
  }
}

export function addStanding(conversationId: string, kind: string): void {
  const kinds = standingKinds(conversationId);
  if (!kinds.includes(kind)) write(conversationId, [...kinds, kind]);
}

export function removeStanding(conversationId: string, kind: string): void {
  write(
    conversationId,
    standingKinds(conversationId).filter((each) => each !== kind),
  );
}

function write(conversationId: string, kinds: readonly string[]): void {
  writeStored(
    conversationKey("always", conversationId),
    kinds.length === 0 ? null : JSON.stringify(kinds),
  );
  for (const listener of listeners) listener();
}

/** Be told of changes, also of those in other tabs. */
export function onStanding(listener: () => void): () => void {
  listeners.add(listener);
  window.addEventListener("storage", listener);
  return () => {
    listeners.delete(listener);
    window.removeEventListener("storage", listener);
  };
}

/**
 * What a decision that nobody made by hand carries: it is kept with the run and told apart by it.
 */
const STANDING_NOTE = "Approved by the user for the whole conversation before.";
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

/** The kinds of calls that are approved without asking in a conversation. */
export function useStandingKinds(conversationId: string): readonly string[] {
  const read = useCallback(() => standingKinds(conversationId), [conversationId]);
  return useSyncExternalStore(onStanding, read);
}

/** Approves what the user has said "always" to in this conversation. One per page. */
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

/**
 * The kinds of calls that are approved without asking in this conversation, each with a way back.
 */
export function StandingList({ conversationId }: { conversationId: string }) {
  const { t } = useTranslation("answer");
  const kinds = useStandingKinds(conversationId);
  if (kinds.length === 0) return null;
  return (
    <div className="flex flex-wrap items-center gap-1.5 text-xs text-muted">
      <ShieldAlert className="size-4 text-warn" aria-hidden />
      {t("approval.standing")}
      <ul className="flex flex-wrap gap-1.5" aria-label={t("approval.standing")}>
        {kinds.map((kind) => (
          <li key={kind} className="flex items-center rounded-full border border-line pl-2.5">
            {kindWords(kind, t)}
            <IconButton
              isSmall
              icon={X}
              className="size-6 rounded-full"
              label={t("approval.revoke", { tool: kindWords(kind, t) })}
              onClick={() => removeStanding(conversationId, kind)}
            />
          </li>
        ))}
      </ul>
    </div>
  );
}
