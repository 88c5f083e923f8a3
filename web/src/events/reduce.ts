/**
 * The one pure reducer: what happened → what a conversation looks like.
 *
 * Events may come twice (after a reconnect, or in the history and live); `seq` tells. So a page
 * that was loaded in the middle of an answer ends up equal to one that saw it all.
 */

import { fold } from "./fold";
import { fromHistory, newTurn, type ThreadHistory } from "./history";
import type { ConversationState, Question, Turn } from "./state";
import type { Decision, RunEvent } from "./types";

export type ConversationAction =
  | { type: "history"; history: ThreadHistory }
  | { type: "earlier"; history: ThreadHistory }
  | { type: "event"; event: RunEvent }
  | { type: "events"; events: RunEvent[] }
  | { type: "sent"; clientMessageId: string; question: Question; at: number }
  | { type: "accepted"; clientMessageId: string; runId: string; messageId: string; at: number }
  | {
      type: "refused";
      clientMessageId: string;
      error: string;
      code: string;
      retryAfter: number | null;
    }
  | { type: "withdrawn"; clientMessageId: string }
  | { type: "deciding"; requestId: string; decision: Decision }
  | { type: "decided"; requestId: string; decision: Decision }
  | { type: "undecided"; requestId: string };

/** The state after an action. */
export function reduce(state: ConversationState, action: ConversationAction): ConversationState {
  switch (action.type) {
    case "history":
      return merged(state, fromHistory(action.history));
    case "earlier":
      return preceded(state, action.history);
    case "event":
      return withEvent(state, action.event);
    case "events":
      return action.events.reduce(withEvent, state);
    case "sent":
      if (state.turns.some(byMessage(action.clientMessageId))) return state;
      return withTurn(state, sending(action.clientMessageId, action.question, action.at));
    case "accepted":
      return accepted(state, action);
    case "refused": {
      const { error, code, retryAfter } = action;
      return changed(state, byMessage(action.clientMessageId), (turn) =>
        turn.status === "sending"
          ? { ...turn, status: "refused", refusal: { error, code, retryAfter } }
          : turn,
      );
    }
    case "withdrawn": {
      const isIt = byMessage(action.clientMessageId);
      return {
        ...state,
        turns: state.turns.filter((turn) => !(isIt(turn) && turn.runId === null)),
      };
    }
    case "deciding":
      return withApproval(state, action.requestId, "sending", action.decision);
    case "decided":
      return withApproval(state, action.requestId, "decided", action.decision);
    case "undecided":
      return withApproval(state, action.requestId, "open", null);
  }
}

type IsTurn = (turn: Turn) => boolean;

function byMessage(clientMessageId: string): IsTurn {
  return (turn) => turn.clientMessageId === clientMessageId;
}

function changed(
  state: ConversationState,
  isIt: IsTurn,
  change: (turn: Turn) => Turn,
): ConversationState {
  const at = state.turns.findLastIndex(isIt);
  const turn = state.turns[at];
  if (turn === undefined) return state;
  const next = change(turn);
  return next === turn ? state : { ...state, turns: state.turns.with(at, next) };
}

function withTurn(state: ConversationState, turn: Turn): ConversationState {
  return { ...state, turns: [...state.turns, turn] };
}

function sending(clientMessageId: string, question: Question, askedAt: number): Turn {
  const known = { runId: null, clientMessageId, question, askedAt, status: "sending" as const };
  return newTurn(clientMessageId, known);
}

/** The run's events may be here before the acknowledgement: then they are one turn from now on. */
function accepted(
  state: ConversationState,
  action: Extract<ConversationAction, { type: "accepted" }>,
): ConversationState {
  const { clientMessageId, runId, messageId, at } = action;
  const asked = state.turns.find(byMessage(clientMessageId));
  if (asked === undefined || asked.runId !== null) return state;
  const question = asked.question && { ...asked.question, messageId };
  const early = state.turns.find((turn) => turn.runId === runId);
  const turn: Turn = early
    ? { ...early, clientMessageId, question, askedAt: at }
    : { ...asked, id: runId, runId, question, askedAt: at, status: "running", refusal: null };
  const rest = state.turns.filter((each) => each !== early);
  return { ...state, turns: rest.map((each) => (each === asked ? turn : each)) };
}

function withEvent(state: ConversationState, event: RunEvent): ConversationState {
  if (event.seq <= state.lastSeq) return state;
  const isIt: IsTurn = (turn) => turn.runId === event.run_id;
  const known = state.turns.some(isIt)
    ? state
    : withTurn(state, newTurn(event.run_id, { askedAt: event.timestamp }));
  const next = changed(known, isIt, (turn) => fold(turn, event));
  return { ...next, lastSeq: event.seq };
}

function withApproval(
  state: ConversationState,
  requestId: string,
  to: "open" | "sending" | "decided",
  decision: Decision | null,
): ConversationState {
  const has: IsTurn = (turn) =>
    turn.parts.some((part) => part.kind === "approval" && part.requestId === requestId);
  return changed(state, has, (turn) => ({
    ...turn,
    parts: turn.parts.map((part) =>
      part.kind === "approval" &&
      part.requestId === requestId &&
      (part.state === "open" || part.state === "sending")
        ? { ...part, state: to, decision }
        : part,
    ),
  }));
}

/**
 * The stored conversation is right in all that it has; what came after it, and messages that the
 * server has not taken yet, stay.
 */
function merged(state: ConversationState, stored: ConversationState): ConversationState {
  const isStored = new Set(stored.turns.map((turn) => turn.id));
  const live = new Map(state.turns.map((turn) => [turn.id, turn]));
  const isNewer = state.lastSeq > stored.lastSeq;
  const turns = stored.turns.map((turn) => {
    const mine = live.get(turn.id);
    if (mine === undefined) return turn;
    const kept = isNewer && turn.status === "running" ? joined(mine, turn) : turn;
    return { ...kept, clientMessageId: mine.clientMessageId };
  });
  const first = stored.turns[0]?.id;
  const earlier = first === undefined ? -1 : state.turns.findIndex((turn) => turn.id === first);
  const before = earlier > 0 ? state.turns.slice(0, earlier) : [];
  const after = state.turns
    .slice(before.length)
    .filter((turn) => !isStored.has(turn.id) && (turn.runId === null || isNewer));
  return {
    turns: [...before, ...turns, ...after],
    lastSeq: Math.max(state.lastSeq, stored.lastSeq),
    earlier: Math.max(0, stored.earlier - 2 * before.length),
  };
}

/** A turn that went on here while the history was read: its parts, and the history's question. */
function joined(mine: Turn, stored: Turn): Turn {
  const decided = new Map(
    stored.parts.flatMap((part) => (part.kind === "approval" ? [[part.requestId, part]] : [])),
  );
  const parts = mine.parts.map((part) => {
    const known = part.kind === "approval" ? decided.get(part.requestId) : undefined;
    if (part.kind !== "approval" || known === undefined) return part;
    if (known.decision) return { ...part, state: known.state, decision: known.decision };
    return part.state === "answered" ? { ...part, state: known.state } : part;
  });
  return { ...mine, question: stored.question, askedAt: stored.askedAt, parts };
}

/** An earlier page before what is shown. */
function preceded(state: ConversationState, page: ThreadHistory): ConversationState {
  const isShown = new Set(state.turns.map((turn) => turn.id));
  const turns = fromHistory(page).turns.filter((turn) => !isShown.has(turn.id));
  const earlier = Math.max(0, state.earlier - page.messages.length);
  return { ...state, turns: [...turns, ...state.turns], earlier };
}
