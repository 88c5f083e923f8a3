/** What real servers said, for tests: written by `npm run recordings`. */

import type { ThreadHistory } from "./history";
import { reduce, type ConversationAction } from "./reduce";
import { EMPTY_CONVERSATION, type ConversationState, type Question } from "./state";
import type { RunEvent } from "./types";

export interface Recording {
  name: string;
  live: RunEvent[];
  history: ThreadHistory;
}

const files = import.meta.glob<Omit<Recording, "name">>("./recordings/*.json", {
  eager: true,
  import: "default",
});

export const RECORDINGS: Recording[] = Object.entries(files).map(([path, recording]) => ({
  name: path.replace(/^.*\/|\.json$/g, ""),
  ...recording,
}));

export function recordingOf(name: string): Recording {
  const found = RECORDINGS.find((recording) => recording.name === name);
  if (found === undefined) throw new Error(`there is no recording ${name}`);
  return found;
}

/**
 * The history as it was when `seq` was the last event; `isAsked`: the next question is there, too.
 */
export function historyAt(recording: Recording, seq: number, isAsked = false): ThreadHistory {
  const { history, live } = recording;
  const begun = new Set(live.filter((event) => event.seq <= seq).map((event) => event.run_id));
  const next = live.find((event) => event.seq > seq && !begun.has(event.run_id));
  const isIdle = live.findLast((event) => event.seq <= seq)?.event_type === "done" || seq === 0;
  if (isAsked && isIdle && next) begun.add(next.run_id);
  const messages = history.messages
    .filter((message) => message.run_id !== null && begun.has(message.run_id))
    .map((message) => {
      const all = message.events as unknown as RunEvent[];
      const events = all.filter((event) => event.seq <= seq);
      const isRunning = message.role === "assistant" && events.at(-1)?.event_type !== "done";
      return {
        ...message,
        status: isRunning ? ("running" as const) : message.status,
        events,
        approvals: message.approvals.flatMap((approval) => {
          const asked = all.findIndex(
            (event) =>
              event.event_type === "hitl_request" && event.data.request_id === approval.request_id,
          );
          const after = all.slice(asked + 1).find((event) => event.event_type !== "hitl_request");
          if (asked >= events.length) return [];
          return [after && after.seq <= seq ? approval : { ...approval, decision: null }];
        }),
      };
    });
  return { ...history, messages, total: messages.length, last_seq: seq };
}

/** What the tab that asked everything does and sees, in order. */
export function asSeen({ live, history }: Recording): ConversationAction[] {
  const questions = history.messages.filter((message) => message.role === "user");
  return questions.flatMap((message) => {
    const clientMessageId = `client ${message.message_id}`;
    const runId = message.run_id ?? "";
    const question: Question = {
      messageId: null,
      content: message.content,
      attachments: [],
      skill: null,
      agentId: null,
    };
    return [
      { type: "sent" as const, clientMessageId, question, at: 1 },
      {
        type: "accepted" as const,
        clientMessageId,
        runId,
        messageId: message.message_id,
        at: Date.parse(message.created_at) / 1000,
      },
      ...live
        .filter((event) => event.run_id === runId)
        .map((event) => ({ type: "event" as const, event })),
    ];
  });
}

export function play(
  actions: readonly ConversationAction[],
  from: ConversationState = EMPTY_CONVERSATION,
): ConversationState {
  return actions.reduce(reduce, from);
}

/** Without what only the tab that asked knows: its own id of the message. */
export function shown(state: ConversationState): ConversationState {
  const turns = state.turns.map((turn) => ({ ...turn, clientMessageId: null }));
  return { ...state, turns };
}
