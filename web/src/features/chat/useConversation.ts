/**
 * One conversation, live: its history, its socket, its state, and what a person can do in it.
 *
 * A message is kept in the outbox until the server has it (its `client_message_id` makes sending it
 * twice harmless), so a reload or a lost network in between loses nothing.
 */

import {
  useCallback,
  useEffect,
  useMemo,
  useReducer,
  useRef,
  useState,
  type Dispatch,
} from "react";

import { api, call, SIGNED_IN_EVENT, tellSignedOut } from "@/api/client";
import { queryClient } from "@/api/queries";
import { ConversationLink, type LinkStatus } from "@/events/link";
import { reduce, type ConversationAction } from "@/events/reduce";
import {
  activeTurn,
  EMPTY_CONVERSATION,
  type ConversationState,
  type Question,
  type Turn,
} from "@/events/state";
import type { Decision, Notice } from "@/events/types";
import { forgetRefused, keepRefused } from "@/features/composer/drafts";
import { serverNow, setServerTime } from "@/lib/clock";
import { newId } from "@/lib/ids";

import { outbox, toWire } from "./outbox";
import { loadHistory } from "./stored";

/** Events come in bursts, and the history is read once for all of them. */
const LOOK_MS = 150;

export interface Conversation {
  id: string;
  state: ConversationState;
  link: LinkStatus;
  isLoaded: boolean;
  /** Why the history could not be loaded. */
  problem: unknown;
  ask: (question: Question) => void;
  /** Take a message back that was not accepted. */
  withdraw: (clientMessageId: string) => void;
  stop: () => Promise<void>;
  /** Throws `ApiError` when the server does not take it: too late, or decided elsewhere. */
  decide: (runId: string, requestId: string, decision: Decision) => Promise<void>;
  loadEarlier: () => Promise<void>;
  restart: () => void;
}

/**
 * One conversation, live: its state, and what a person can do in it.
 *
 * A message is kept in the outbox until the server has it (its `client_message_id` makes sending it
 * twice harmless), so a reload or a lost network in between loses nothing.
 */
export function useConversation(id: string): Conversation {
  const [state, dispatch] = useReducer(reduce, EMPTY_CONVERSATION);
  const { status, isLoaded, problem, send, restart } = useLink(id, dispatch);

  const reread = useCallback(async () => {
    const history = await loadHistory(id);
    if (history) dispatch({ type: "history", history });
  }, [id]);

  // An event tells that another tab asked or decided; what it was is in the history by then.
  const unknown = unknownIn(state);
  const isRunning = activeTurn(state) !== null;
  useEffect(() => {
    if (unknown === "" || status !== "open") return;
    const timer = setTimeout(() => void reread().catch(() => undefined), LOOK_MS);
    return () => clearTimeout(timer);
  }, [unknown, status, isRunning, reread]);

  return {
    id,
    state,
    link: status,
    isLoaded,
    problem,
    restart,
    ...useActs(id, state, dispatch, send),
    decide: useDecide(dispatch, reread),
  };
}

/** Which questions and decisions of other tabs are not loaded yet; "" if there are none. */
function unknownIn(state: ConversationState): string {
  const ids = state.turns.flatMap((turn) => [
    ...(turn.question === null ? [turn.id] : []),
    ...turn.parts.flatMap((part) =>
      part.kind === "approval" && part.state === "answered" ? [part.requestId] : [],
    ),
  ]);
  return ids.join(" ");
}

/**
 * What a person does, the same functions at each rendering: memoised parts of the page hold them.
 */
function useActs(
  id: string,
  state: ConversationState,
  dispatch: Dispatch<ConversationAction>,
  send: Linked["send"],
): Pick<Conversation, "ask" | "withdraw" | "stop" | "loadEarlier"> {
  const latest = useRef(state);
  useEffect(() => {
    latest.current = state;
  }, [state]);
  return useMemo(
    () => ({
      ask: (question) => {
        const message = { clientMessageId: newId(), question, at: serverNow() };
        outbox.put(id, message);
        dispatch({ type: "sent", ...message });
        send("chat", toWire(message));
      },
      withdraw: (clientMessageId) => {
        const isIt = (turn: Turn) => turn.clientMessageId === clientMessageId;
        const refused = latest.current.turns.find(isIt);
        if (refused?.question) forgetRefused(id, refused.question);
        outbox.take(id, clientMessageId);
        dispatch({ type: "withdrawn", clientMessageId });
      },
      stop: async () => {
        const runId = activeTurn(latest.current)?.runId;
        if (!runId) {
          send("cancel", {});
          return;
        }
        const path = { run_id: runId };
        await call(api.POST("/api/v1/runs/{run_id}/cancel", { params: { path } }));
      },
      loadEarlier: async () => {
        const history = await loadHistory(id, latest.current.earlier);
        if (history) dispatch({ type: "earlier", history });
      },
    }),
    [id, dispatch, send],
  );
}

function useDecide(
  dispatch: Dispatch<ConversationAction>,
  reread: () => Promise<void>,
): Conversation["decide"] {
  return useCallback(
    async (runId, requestId, decision) => {
      dispatch({ type: "deciding", requestId, decision });
      try {
        const path = { run_id: runId, request_id: requestId };
        await call(
          api.POST("/api/v1/runs/{run_id}/decisions/{request_id}", {
            params: { path },
            body: decision,
          }),
        );
        dispatch({ type: "decided", requestId, decision });
      } catch (error) {
        dispatch({ type: "undecided", requestId });
        await reread().catch(() => undefined); // what went wrong with the decision is told
        throw error;
      }
    },
    [dispatch, reread],
  );
}

interface Linked {
  status: LinkStatus;
  isLoaded: boolean;
  problem: unknown;
  /** It and `restart` are the same at each rendering. */
  send: (type: string, payload: object) => boolean;
  /** Begin anew: history, then the socket. */
  restart: () => void;
}

/** Load the history, then follow from its last event; tell the reducer. */
function useLink(sessionId: string, dispatch: Dispatch<ConversationAction>): Linked {
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
