/** What the server says on the wire: the protocol's types, and the shapes of what tools put in. */

import type { EventData, JsonObject } from "./schema";

export type * from "./schema";

export interface Todo {
  content: string;
  status: "pending" | "in_progress" | "completed";
}

/**
 * A figure of an answer and the cell, or the sum of cells, that backs it. Offsets count code
 * points.
 */
export interface VerifiedFigure {
  text: string;
  value: string;
  start: number;
  end: number;
  kind: string;
  artifact_id: string;
  how: string;
  row?: number;
  column?: string;
  expression?: string;
}

export interface UnbackedFigure {
  text: string;
  value: string;
  start: number;
  end: number;
  kind: string;
  reason: string;
}

export interface Figures {
  verified: VerifiedFigure[];
  unbacked: UnbackedFigure[];
  is_complete: boolean;
}

/** What the protocol leaves to tools, by the type of event. */
interface ToolData {
  todo_update: { todos: Todo[] };
  artifact: { preview: JsonObject | null };
  done: { metadata: { figures?: Figures; budget?: JsonObject } | null };
}

type DataOf<Type extends keyof EventData> = Type extends keyof ToolData
  ? Omit<EventData[Type], keyof ToolData[Type]> & ToolData[Type]
  : EventData[Type];

/** An event of a run: numbered, stored, the same live and in the history. */
export type RunEvent = {
  [Type in keyof EventData]: {
    event_type: Type;
    data: DataOf<Type>;
    timestamp: number;
    seq: number;
    run_id: string;
  };
}[keyof EventData];

interface NoticeData {
  connected: { session_id: string; last_seq: number; active_run: string | null };
  accepted: { run_id: string; message_id: string; client_message_id?: string };
  error: {
    error: string;
    error_code: string;
    recoverable: boolean;
    client_message_id?: string;
    retry_after?: number;
  };
  mcp_changed: { server_id: string; name: string; what: string };
  gap: { from: number; to: number };
  pong: Record<string, never>;
}

/** What the server says besides events of a run: it has no `seq` and is not kept. */
export type Notice = {
  [Type in keyof NoticeData]: { event_type: Type; data: NoticeData[Type]; timestamp: number };
}[keyof NoticeData];

export type Wire = RunEvent | Notice;

/** Whether a message belongs to a run. */
export function isRunEvent(message: Wire): message is RunEvent {
  return "seq" in message;
}
