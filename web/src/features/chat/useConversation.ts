/**
 * One conversation, live: its state, and what a person can do in it.
 *
 * A message is kept in the outbox until the server has it (its `client_message_id` makes sending it
 * twice harmless), so a reload or a lost network in between loses nothing.
 */

import { useCallback, useEffect, useMemo, useReducer, useRef, type Dispatch } from "react";

import { api, call } from "@/api/client";
import type { LinkStatus } from "@/events/link";
import { reduce, type ConversationAction } from "@/events/reduce";
import {
  activeTurn,
  EMPTY_CONVERSATION,
  type ConversationState,
  type Question,
  type Turn,
} from "@/events/state";
import type { Decision } from "@/events/types";
import { forgetRefused } from "@/features/composer/drafts";
import { serverNow } from "@/lib/clock";
import { newId } from "@/lib/ids";

import { outbox, toWire } from "./outbox";
import { loadHistory } from "./stored";
import { useLink, type Linked } from "./useLink";

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
