/** A conversation's socket for as long as the page shows it. */

import { useCallback, useEffect, useRef, useState, type Dispatch } from "react";

import { tellSignedOut } from "@/api/client";
import { queryClient } from "@/api/queries";
import { SIGNED_IN_EVENT } from "@/app/SignInAgain";
import { ConversationLink, type LinkStatus } from "@/events/link";
import type { ConversationAction } from "@/events/reduce";
import type { Notice } from "@/events/types";
import { keepRefused } from "@/features/composer/drafts";
import { setServerTime } from "@/lib/clock";

import { outbox, toWire } from "./outbox";
import { loadHistory } from "./stored";

export interface Linked {
  status: LinkStatus;
  isLoaded: boolean;
  problem: unknown;
  /** It and `restart` are the same at each rendering. */
  send: (type: string, payload: object) => boolean;
  /** Begin anew: history, then the socket. */
  restart: () => void;
}

/** Load the history, then follow from its last event; tell the reducer. */
export function useLink(sessionId: string, dispatch: Dispatch<ConversationAction>): Linked {
  const [status, setStatus] = useState<LinkStatus>("connecting");
  const [isLoaded, setIsLoaded] = useState(false);
  const [problem, setProblem] = useState<unknown>(null);
  const [attempt, setAttempt] = useState(0);
  const link = useRef<ConversationLink | null>(null);

  useEffect(() => {
    let isGone = false;
    let lastSeq = 0;
    const restart = () => setAttempt((count) => count + 1);
    const onNotice = (notice: Notice) => {
      if (notice.event_type === "gap") restart();
      else hear(notice, sessionId, link.current, dispatch);
    };
    const start = async () => {
      const history = outbox.isFirst(sessionId) ? null : await loadHistory(sessionId);
      if (isGone) return;
      if (history) {
        lastSeq = history.last_seq;
        dispatch({ type: "history", history });
      }
      const unsent = outbox.of(sessionId);
      for (const message of unsent) dispatch({ type: "sent", ...message });
      setIsLoaded(true);
      setProblem(null);
      if (history === null && unsent.length === 0) {
        setStatus("missing"); // connecting would create it, empty
        return;
      }
      link.current = new ConversationLink(sessionId, {
        after: () => lastSeq,
        onEvents: (events) => {
          lastSeq = Math.max(lastSeq, events.at(-1)?.seq ?? 0);
          dispatch({ type: "events", events });
        },
        onNotice,
        onStatus: (next) => {
          setStatus(next);
          if (next === "signed_out") tellSignedOut();
        },
      });
    };
    start().catch((error: unknown) => {
      if (!isGone) setProblem(error);
    });
    const onSignedIn = () => (link.current ? link.current.reconnect() : restart());
    window.addEventListener(SIGNED_IN_EVENT, onSignedIn);
    return () => {
      isGone = true;
      window.removeEventListener(SIGNED_IN_EVENT, onSignedIn);
      link.current?.close();
      link.current = null;
    };
  }, [sessionId, attempt, dispatch]);

  const send: Linked["send"] = useCallback(
    (type, payload) => link.current?.send(type, payload) ?? false,
    [],
  );
  const restart = useCallback(() => setAttempt((count) => count + 1), []);
  return { status, isLoaded, problem, send, restart };
}

function hear(
  notice: Notice,
  sessionId: string,
  link: ConversationLink | null,
  dispatch: Dispatch<ConversationAction>,
): void {
  switch (notice.event_type) {
    case "connected":
      setServerTime(notice.timestamp);
      for (const message of outbox.of(sessionId)) link?.send("chat", toWire(message));
      break;
    case "accepted": {
      const {
        client_message_id: clientMessageId,
        run_id: runId,
        message_id: messageId,
      } = notice.data;
      if (clientMessageId === undefined) break;
      outbox.take(sessionId, clientMessageId);
      dispatch({ type: "accepted", clientMessageId, runId, messageId, at: notice.timestamp });
      void queryClient.invalidateQueries({ queryKey: ["conversations"] });
      break;
    }
    case "error": {
      const { client_message_id: clientMessageId, error, error_code: code } = notice.data;
      if (clientMessageId === undefined) break;
      keepQuestion(sessionId, clientMessageId);
      outbox.take(sessionId, clientMessageId);
      const retryAfter = notice.data.retry_after ?? null;
      dispatch({ type: "refused", clientMessageId, error, code, retryAfter });
      break;
    }
    case "mcp_changed":
      void queryClient.invalidateQueries({ queryKey: ["mcp"] });
      break;
    case "gap":
    case "pong":
      break;
  }
}

function keepQuestion(sessionId: string, clientMessageId: string): void {
  const refused = outbox.of(sessionId).find((each) => each.clientMessageId === clientMessageId);
  if (refused) keepRefused(sessionId, refused.question);
}
