/** The draft of a conversation, written down while someone types and when the page goes away. */

import { useCallback, useEffect, useRef, useState } from "react";

import { EMPTY_DRAFT, readDraft, writeDraft, type Draft } from "./drafts";

const WRITE_AFTER_MS = 300;

export type ChangeDraft = (change: Partial<Draft> | ((draft: Draft) => Partial<Draft>)) => void;

interface KeptDraft {
  draft: Draft;
  change: ChangeDraft;
  /** It was sent: forget it at once, keep only who answers. */
  clear: () => void;
}

export function useDraft(conversationId: string): KeptDraft {
  const [draft, setDraft] = useState(() => readDraft(conversationId));
  const written = useRef(draft);
  const latest = useRef(draft);

  const flush = useCallback(() => {
    if (latest.current === written.current) return;
    written.current = latest.current;
    writeDraft(conversationId, latest.current);
  }, [conversationId]);

  const change: ChangeDraft = useCallback(
    (changed) =>
      setDraft((before) => ({
        ...before,
        ...(typeof changed === "function" ? changed(before) : changed),
      })),
    [],
  );

  const clear = useCallback(() => {
    const cleared = { ...EMPTY_DRAFT, agentId: latest.current.agentId };
    latest.current = cleared;
    flush();
    setDraft(cleared);
  }, [flush]);

  useEffect(() => {
    latest.current = draft;
    const timer = setTimeout(flush, WRITE_AFTER_MS);
    return () => clearTimeout(timer);
  }, [draft, flush]);

  useEffect(() => {
    window.addEventListener("pagehide", flush);
    return () => {
      window.removeEventListener("pagehide", flush);
      flush();
    };
  }, [flush]);

  return { draft, change, clear };
}
