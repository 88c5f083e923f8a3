/** What the server says on the wire, as in the design's table of events. Plain data. */

export type Json = string | number | boolean | null | Json[] | { [key: string]: Json };
export type JsonObject = Record<string, Json>;

export type ToolStatus = "success" | "error" | "timeout" | "denied";
export type DecisionType = "approve" | "reject" | "edit" | "respond";
export type ArtifactKind = "table" | "chart" | "file";
export type FileOperation = "read" | "write" | "edit" | "delete";
export type DoneReason =
  "completed" | "user_cancelled" | "rejected" | "timeout" | "failed" | "shutdown" | "budget";

export interface Action {
  name: string;
  args: JsonObject;
  description: string;
  args_schema?: JsonObject;
  /** What the call would change in a file, as a unified diff. */
  diff?: string | null;
  /** What "always" covers for this call; without one, nothing but the call itself. */
  kind?: string | null;
}

export interface Decision {
  type: DecisionType;
  message?: string | null;
  edited_action?: { name: string; args: JsonObject } | null;
}

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

export interface TokenUsage {
  input_tokens?: number;
  output_tokens?: number;
  total_tokens?: number;
}

/** Who says it. An agent that `is_main` answers itself; any other that is named is a sub-agent. */
export interface Speaker {
  agent: string | null;
  is_main?: boolean; // older events do not have it
}

interface EventData {
  text: { content: string; is_final: boolean } & Speaker;
  thinking: { content: string } & Speaker;
  tool_call: {
    tool_name: string;
    tool_args: JsonObject;
    tool_call_id: string;
  } & Speaker;
  tool_result: { tool_call_id: string; tool_name: string; result: Json; status: ToolStatus };
  hitl_request: {
    request_id: string;
    action: Action;
    allowed: DecisionType[];
    expires_at: number | null;
  };
  todo_update: { todos: Todo[] };
  file_operation: {
    operation: FileOperation;
    file_path: string;
    metrics: Record<string, number>;
    diff: string | null;
    status: ToolStatus;
  };
  artifact: {
    artifact_id: string;
    kind: ArtifactKind;
    title: string;
    url: string;
    preview: JsonObject | null;
  };
  error: { error: string; error_code: string; recoverable: boolean };
  done: {
    token_usage: TokenUsage | null;
    cancelled: boolean;
    reason: DoneReason;
    metadata: { figures?: Figures; budget?: JsonObject } | null;
  };
}

export type EventType = keyof EventData;

/** An event of a run: numbered, kept, the same live and in the history. */
export type RunEvent = {
  [Type in EventType]: {
    event_type: Type;
    data: EventData[Type];
    timestamp: number;
    seq: number;
    run_id: string;
  };
}[EventType];

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
