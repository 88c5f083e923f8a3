/** "Always, in this conversation": tools whose calls this browser approves by itself. */

import { conversationKey, readStored, writeStored } from "@/lib/store";

const NONE: readonly string[] = [];
const known = new Map<string, { written: string; tools: readonly string[] }>();
const listeners = new Set<() => void>();

/** The tools, in the order in which they were added; the same list until it changes. */
export function standingTools(conversationId: string): readonly string[] {
  const written = readStored(conversationKey("always", conversationId));
  if (written === null) return NONE;
  const before = known.get(conversationId);
  if (before?.written === written) return before.tools;
  const tools = parsed(written);
  known.set(conversationId, { written, tools });
  return tools;
}

function parsed(written: string): readonly string[] {
  try {
    const tools: unknown = JSON.parse(written);
    return Array.isArray(tools) ? tools.filter((each) => typeof each === "string") : NONE;
  } catch {
    return NONE;
  }
}

export function addStanding(conversationId: string, tool: string): void {
  const tools = standingTools(conversationId);
  if (!tools.includes(tool)) write(conversationId, [...tools, tool]);
}

export function removeStanding(conversationId: string, tool: string): void {
  write(
    conversationId,
    standingTools(conversationId).filter((each) => each !== tool),
  );
}

function write(conversationId: string, tools: readonly string[]): void {
  writeStored(
    conversationKey("always", conversationId),
    tools.length === 0 ? null : JSON.stringify(tools),
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
