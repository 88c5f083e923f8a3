/** A stored conversation → turns, by the same fold as live events. Pure. */

import type { components } from "@/api/schema";

import { fold } from "./fold";
import type { ConversationState, Question, Turn } from "./state";
import type { Decision, JsonObject, RunEvent } from "./types";

export type ThreadHistory = components["schemas"]["ThreadHistory"];
type Message = ThreadHistory["messages"][number];

/** The state that a page of history stands for. */
export function fromHistory(history: ThreadHistory): ConversationState {
  const turns: Turn[] = [];
  for (const message of history.messages) {
    if (message.role === "user") turns.push(asked(message));
    else answer(turns, message);
  }
  const earlier = Math.max(0, history.total - history.messages.length);
  return { turns, lastSeq: history.last_seq, earlier };
}

/** An empty turn of a run. */
export function newTurn(id: string, known: Partial<Turn> = {}): Turn {
  return {
    id,
    runId: id,
    clientMessageId: null,
    question: null,
    parts: [],
    status: "running",
    refusal: null,
    end: null,
    askedAt: 0,
    answerLength: 0,
    isBetweenTexts: false,
    ...known,
  };
}

function asked(message: Message): Turn {
  const id = message.run_id ?? message.message_id;
  return newTurn(id, {
    runId: message.run_id,
    question: questionOf(message),
    askedAt: Date.parse(message.created_at) / 1000,
  });
}

/** Metadata is JSON of the server; only what has the expected shape is taken. */
function questionOf(message: Message): Question {
  const { files, skill, assistant_id: agentId } = message.metadata as JsonObject;
  const attachments = (Array.isArray(files) ? files : []).flatMap((file) =>
    typeof file === "object" && file !== null && !Array.isArray(file)
      ? [{ fileId: text(file["file_id"]) ?? "", filename: text(file["filename"]) ?? "" }]
      : [],
  );
  return {
    messageId: message.message_id,
    content: message.content,
    attachments,
    skill: text(skill),
    agentId: text(agentId),
  };
}

function text(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}

function answer(turns: Turn[], message: Message): void {
  const id = message.run_id ?? message.message_id;
  const at = turns.findLastIndex((turn) => turn.id === id);
  const before = turns[at] ?? newTurn(id, { askedAt: Date.parse(message.created_at) / 1000 });
  const events = message.events as unknown as RunEvent[]; // the wire's own form
  const folded = withDecisions(events.reduce(fold, before), message);
  if (at < 0) turns.push(folded);
  else turns[at] = folded;
}

/** What the history says of a request is right, also when other tools went on beside it. */
function withDecisions(turn: Turn, message: Message): Turn {
  const decided = new Map(message.approvals.map((each) => [each.request_id, each.decision]));
  const parts = turn.parts.map((part) => {
    const decision = part.kind === "approval" ? decided.get(part.requestId) : undefined;
    if (part.kind !== "approval" || decision === undefined) return part;
    if (decision) {
      return { ...part, state: "decided" as const, decision: decision as unknown as Decision };
    }
    return turn.status === "running" ? { ...part, state: "open" as const } : part;
  });
  return { ...turn, parts };
}
