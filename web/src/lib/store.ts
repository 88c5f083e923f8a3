/** What this browser keeps between visits. A full or forbidden store is not an error. */

export function readStored(key: string): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

export function writeStored(key: string, value: string | null): void {
  try {
    if (value === null) localStorage.removeItem(key);
    else localStorage.setItem(key, value);
  } catch {
    // private mode, or full: then it lasts as long as the page
  }
}

/** What is kept of a single conversation. */
const OF_CONVERSATION = ["draft", "always"] as const;

/** Where it is kept: what stands here goes when the conversation is deleted. */
export function conversationKey(
  kind: (typeof OF_CONVERSATION)[number],
  conversationId: string,
): string {
  return `dataagent.${kind}.${conversationId}`;
}

/** Keep nothing of a conversation any more. Returns the way back. */
export function forgetConversation(conversationId: string): () => void {
  const kept = OF_CONVERSATION.map((kind) => {
    const key = conversationKey(kind, conversationId);
    return [key, readStored(key)] as const;
  });
  for (const [key] of kept) writeStored(key, null);
  return () => {
    for (const [key, value] of kept) if (value !== null) writeStored(key, value);
  };
}
