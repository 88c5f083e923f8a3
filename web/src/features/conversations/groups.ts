/** Conversations by the day they were last active. Pure. */

import type { Schemas } from "@/api/client";

export type ConversationInfo = Schemas["ConversationInfo"];

export interface Group {
  /** A month is named by its first day. */
  when: "today" | "yesterday" | "week" | Date;
  items: ConversationInfo[];
}

/** In the order given, which is the last active first; each conversation once. */
export function groupByDay(conversations: readonly ConversationInfo[], now: Date): Group[] {
  const groups = new Map<string, Group>();
  const isSeen = new Set<string>();
  for (const conversation of conversations) {
    if (isSeen.has(conversation.id)) continue; // pages shift when a conversation is begun
    isSeen.add(conversation.id);
    const when = whenWas(new Date(conversation.updated_at), now);
    const key = typeof when === "string" ? when : when.toISOString();
    const group = groups.get(key) ?? { when, items: [] };
    group.items.push(conversation);
    groups.set(key, group);
  }
  return [...groups.values()];
}

function whenWas(at: Date, now: Date): Group["when"] {
  if (at >= daysBefore(now, 0)) return "today";
  if (at >= daysBefore(now, 1)) return "yesterday";
  if (at >= daysBefore(now, 7)) return "week";
  return new Date(at.getFullYear(), at.getMonth(), 1);
}

/** The midnight so many days ago, where the user is. */
function daysBefore(now: Date, days: number): Date {
  return new Date(now.getFullYear(), now.getMonth(), now.getDate() - days);
}
