/** Written by `make web-schema` from `dataagent_protocol`. */

export type Json = string | number | boolean | null | Json[] | { [key: string]: Json };
export type JsonObject = Record<string, Json>;

export type DecisionType = "approve" | "reject" | "edit" | "respond";
export type ToolStatus = "success" | "error" | "timeout" | "denied";
export type FileOperation = "read" | "write" | "edit" | "delete";
export type ArtifactKind = "table" | "chart" | "file";
export type DoneReason = "completed" | "user_cancelled" | "rejected" | "timeout" | "failed" | "shutdown" | "budget";

/** A call that waits for a person. `request_id` names it uniquely within its run. */
export interface ActionRequest {
  name: string;
  args: JsonObject;
  description: string;
  request_id?: string;
  args_schema?: JsonObject | null;
  diff?: string | null;
  kind?: string | null;
}

/** The call to make instead: the same tool with other arguments. */
export interface EditedAction {
  name: string;
  args: JsonObject;
}

/** The answer to an `ActionRequest`. */
export interface Decision {
  type: DecisionType;
  message?: string | null;
  edited_action?: EditedAction | null;
}

/** What an event says, by its type. */
export interface EventData {
  /** A piece of the answer. `is_final` marks a message's last piece; `agent` is its speaker. */
  text: {
    content: string;
    is_final: boolean;
    agent: string | null;
    is_main: boolean;
  };
  /** A piece of the model's reasoning; `agent` and `is_main` as of text. */
  thinking: {
    content: string;
    agent: string | null;
    is_main: boolean;
  };
  /** A tool is about to run, with complete arguments; `agent` and `is_main` as of text. */
  tool_call: {
    tool_name: string;
    tool_args: JsonObject;
    tool_call_id: string;
    agent: string | null;
    is_main: boolean;
  };
  /** A tool has ended, with a result or a failure. */
  tool_result: {
    tool_call_id: string;
    tool_name: string;
    result: Json;
    status: ToolStatus;
  };
  /** A call waits for a person's decision until `expires_at` (epoch seconds). */
  hitl_request: {
    request_id: string;
    action: ActionRequest;
    allowed: DecisionType[];
    expires_at: number | null;
  };
  /** The agent's whole plan, after a change. */
  todo_update: {
    todos: JsonObject[];
  };
  /** A file of the workspace was read or changed; `diff` is a unified diff. */
  file_operation: {
    operation: FileOperation;
    file_path: string;
    metrics: Record<string, number>;
    diff: string | null;
    status: ToolStatus;
  };
  /** A table, chart or file was made and can be fetched. */
  artifact: {
    artifact_id: string;
    kind: ArtifactKind;
    title: string;
    url: string;
    preview: Json;
  };
  /** Something failed; a `DoneEvent` follows. `recoverable` invites a retry. */
  error: {
    error: string;
    error_code: string;
    recoverable: boolean;
  };
  /** The run has ended. Exactly one ends every run. */
  done: {
    token_usage: Record<string, number> | null;
    cancelled: boolean;
    reason: DoneReason;
    metadata: JsonObject | null;
  };
}
