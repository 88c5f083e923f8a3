/** "Always, in this conversation": kinds of calls that this browser approves by itself. */

import { conversationKey, readStored, writeStored } from "@/lib/store";

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
