/** Messages that the server has not taken yet, kept through reloads of this tab. */

import type { Question } from "@/events/state";

export interface OutgoingMessage {
  clientMessageId: string;
  question: Question;
  at: number;
}

const PREFIX = "dataagent.outbox.";

/**
 * What the browser would not keep: a store may be full or forbidden, the message is sent all the
 * same.
 */
const unkept = new Map<string, OutgoingMessage[]>();

function read(sessionId: string): OutgoingMessage[] {
  const here = unkept.get(sessionId);
  if (here !== undefined) return here;
  try {
    const kept = sessionStorage.getItem(PREFIX + sessionId);
    return kept === null ? [] : (JSON.parse(kept) as OutgoingMessage[]); // written below
  } catch {
    return [];
  }
}

function write(sessionId: string, messages: OutgoingMessage[]): void {
  unkept.delete(sessionId);
  try {
    if (messages.length === 0) sessionStorage.removeItem(PREFIX + sessionId);
    else sessionStorage.setItem(PREFIX + sessionId, JSON.stringify(messages));
  } catch {
    unkept.set(sessionId, messages); // then only a reload before the server answers loses them
  }
}

/** Conversations that were begun in this page. */
const begun = new Set<string>();

export const outbox = {
  of: read,
  /** The first message of a conversation, which the server has not heard of. */
  begin: (sessionId: string, message: OutgoingMessage): void => {
    begun.add(sessionId);
    write(sessionId, [message]);
  },
  /** Whether the server cannot know the conversation yet. After a reload nobody can say. */
  isFirst: (sessionId: string): boolean => begun.has(sessionId) && read(sessionId).length > 0,
  put: (sessionId: string, message: OutgoingMessage): void =>
    write(sessionId, [...read(sessionId), message]),
  take: (sessionId: string, clientMessageId: string): void =>
    write(
      sessionId,
      read(sessionId).filter((each) => each.clientMessageId !== clientMessageId),
    ),
};

/** The message as the socket's `chat` takes it. */
export function toWire({ clientMessageId, question }: OutgoingMessage): object {
  return {
    message: question.content,
    client_message_id: clientMessageId,
    ...(question.agentId !== null && { assistant_id: question.agentId }),
    ...(question.skill !== null && { skill: question.skill }),
    ...(question.attachments.length > 0 && {
      file_ids: question.attachments.map((file) => file.fileId),
    }),
  };
}
