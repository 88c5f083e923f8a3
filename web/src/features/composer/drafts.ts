/** Drafts: what is typed in a conversation and not sent yet, stored in this browser. */

import { useMe } from "@/api/queries";
import type { Attachment, Question } from "@/events/state";
import { conversationKey, readStored, writeStored } from "@/lib/store";

export interface Draft {
  text: string;
  attachments: Attachment[];
  agentId: string | null;
  skill: string | null;
}

/**
 * Whose draft it is while the conversation does not exist yet. Who signs in next has one of their
 * own.
 */
export function newDraftId(userId: string): string {
  return `new.${userId}`;
}

export const EMPTY_DRAFT: Draft = { text: "", attachments: [], agentId: null, skill: null };

export function readDraft(conversationId: string): Draft {
  const kept = readStored(conversationKey("draft", conversationId));
  if (kept === null) return EMPTY_DRAFT;
  try {
    const draft: unknown = JSON.parse(kept);
    return isDraft(draft) ? draft : EMPTY_DRAFT;
  } catch {
    return EMPTY_DRAFT;
  }
}

function isDraft(value: unknown): value is Draft {
  if (typeof value !== "object" || value === null) return false;
  const { text, attachments, agentId, skill } = value as Partial<Record<keyof Draft, unknown>>;
  const isName = (name: unknown) => name === null || typeof name === "string";
  return typeof text === "string" && Array.isArray(attachments) && isName(agentId) && isName(skill);
}

export function writeDraft(conversationId: string, draft: Draft): void {
  writeStored(
    conversationKey("draft", conversationId),
    isEmpty(draft) ? null : JSON.stringify(draft),
  );
}

/** Whether nothing would be lost with it; the agent alone is not worth keeping. */
export function isEmpty(draft: Draft): boolean {
  return draft.text.trim() === "" && draft.attachments.length === 0 && draft.skill === null;
}

/**
 * A question the server would not take: it is there again after a reload, unless something was
 * typed.
 */
export function keepRefused(conversationId: string, question: Question): void {
  if (isEmpty(readDraft(conversationId))) writeDraft(conversationId, draftOf(question));
}

/** It was asked again or thrown away. */
export function forgetRefused(conversationId: string, question: Question): void {
  const kept = JSON.stringify(readDraft(conversationId));
  if (kept === JSON.stringify(draftOf(question))) writeDraft(conversationId, EMPTY_DRAFT);
}

/** The question that a draft asks. */
export function questionOf(draft: Draft): Question {
  const { text, attachments, agentId, skill } = draft;
  return { messageId: null, content: text.trim(), attachments, agentId, skill };
}

/** A question, to be changed and asked again. */
export function draftOf(question: Question): Draft {
  const { content: text, attachments, agentId, skill } = question;
  return { text, attachments, agentId, skill };
}

/** Where the user's draft of a new conversation is kept. */
export function useNewDraftId(): string {
  return newDraftId(useMe()?.id ?? "");
}
