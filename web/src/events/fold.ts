/** One event into one turn. Pure; `reduce.ts` finds the turn. */

import {
  codePoints,
  isQuestion,
  type ApprovalPart,
  type Part,
  type TextPart,
  type ToolPart,
  type Turn,
  type TurnStatus,
} from "./state";
import type { ActionRequest, EventData, RunEvent } from "./types";

const SUB_AGENT = "task";

/** The turn after the event. */
export function fold(turn: Turn, event: RunEvent): Turn {
  const next = withEvent(turn, event);
  return event.event_type === "hitl_request" ? next : withApprovalsAnswered(next);
}

function withEvent(turn: Turn, event: RunEvent): Turn {
  switch (event.event_type) {
    case "text":
      return withText(turn, event.data, event.seq);
    case "thinking":
      return withThinking(turn, event);
    case "tool_call":
      return withPart(turn, {
        kind: "tool",
        key: event.seq,
        callId: event.data.tool_call_id,
        name: event.data.tool_name,
        args: event.data.tool_args,
        agent: subagent(event.data),
        status: "running",
        result: null,
        startedAt: event.timestamp,
        endedAt: null,
        hasWaited: false,
      });
    case "tool_result":
      return withResult(turn, event);
    case "hitl_request":
      return withRequest(turn, event);
    case "todo_update":
      return withTodos(turn, event);
    case "file_operation": {
      const { file_path: path, ...rest } = event.data;
      return withPart(turn, { kind: "file", key: event.seq, path, ...rest });
    }
    case "artifact":
      return withPart(turn, {
        kind: "artifact",
        key: event.seq,
        artifactId: event.data.artifact_id,
        artifactKind: event.data.kind,
        title: event.data.title,
        url: event.data.url,
        preview: event.data.preview,
      });
    case "error":
      return withPart(turn, {
        kind: "error",
        key: event.seq,
        error: event.data.error,
        code: event.data.error_code,
        recoverable: event.data.recoverable,
      });
    case "done":
      return ended(turn, event);
    default:
      event satisfies never; // only a newer server has events that are not handled above
      return turn;
  }
}

function withPart(turn: Turn, part: Part): Turn {
  return { ...turn, parts: [...turn.parts, part] };
}

function withLast(turn: Turn, part: Part): Turn {
  return { ...turn, parts: [...turn.parts.slice(0, -1), part] };
}

type TextEvent = Extract<RunEvent, { event_type: "text" }>;
type EventOf<Type extends RunEvent["event_type"]> = Extract<RunEvent, { event_type: Type }>;

/** Stored events of older servers lack `is_main`. */
type Speaker = Pick<EventData["text"], "agent"> & Partial<Pick<EventData["text"], "is_main">>;

/** The sub-agent that speaks; null if it is the agent that answers. */
function subagent({ agent, is_main: isMain }: Speaker): string | null {
  return isMain ? null : agent;
}

function withText(turn: Turn, data: TextEvent["data"], seq: number): Turn {
  const { content, is_final: isFinal } = data;
  const agent = subagent(data);
  const last = turn.parts.at(-1);
  const goesOn = last?.kind === "text" && last.agent === agent && !last.isFinal;
  const isMain = agent === null;
  if (!content && !goesOn) {
    return isMain && isFinal && turn.answerLength > 0 ? { ...turn, isBetweenTexts: true } : turn;
  }
  const gap = isMain && content && turn.isBetweenTexts ? 2 : 0;
  const part: TextPart = goesOn
    ? { ...last, content: last.content + content, isFinal }
    : { kind: "text", key: seq, agent, content, isFinal, start: turn.answerLength + gap };
  const next = goesOn ? withLast(turn, part) : withPart(turn, part);
  if (!isMain) return next;
  return {
    ...next,
    answerLength: turn.answerLength + gap + codePoints(content),
    isBetweenTexts: isFinal || (turn.isBetweenTexts && !content),
  };
}

function withThinking(turn: Turn, event: EventOf<"thinking">): Turn {
  const { data, seq, timestamp } = event;
  const agent = subagent(data);
  const last = turn.parts.at(-1);
  if (last?.kind === "thinking" && last.agent === agent) {
    const content = last.content + data.content;
    return withLast(turn, { ...last, content, endedAt: timestamp });
  }
  const times = { startedAt: timestamp, endedAt: timestamp };
  return withPart(turn, { kind: "thinking", key: seq, content: data.content, agent, ...times });
}

function withResult(turn: Turn, event: EventOf<"tool_result">): Turn {
  const { tool_call_id: callId, tool_name: name, result, status } = event.data;
  const at = turn.parts.findLastIndex(
    (part) => part.kind === "tool" && part.callId === callId && part.endedAt === null,
  );
  const call = turn.parts[at];
  if (call?.kind !== "tool") {
    return withPart(turn, {
      kind: "tool",
      key: event.seq,
      callId,
      name,
      args: {},
      agent: null,
      status,
      result,
      startedAt: event.timestamp,
      endedAt: event.timestamp,
      hasWaited: false,
    });
  }
  return {
    ...turn,
    parts: turn.parts.with(at, { ...call, result, status, endedAt: event.timestamp }),
  };
}

function withRequest(turn: Turn, event: EventOf<"hitl_request">): Turn {
  const { request_id: requestId, action, allowed, expires_at: expiresAt } = event.data;
  const isKnown = turn.parts.some(
    (part) => part.kind === "approval" && part.requestId === requestId,
  );
  if (isKnown) return turn;
  return withPart(withWaiting(turn, action), {
    kind: "approval",
    key: event.seq,
    requestId,
    action,
    allowed,
    expiresAt,
    state: "open",
    decision: null,
  });
}

/** The call that waits for the approval, and the call of the sub-agent that makes it. */
function withWaiting(turn: Turn, action: ActionRequest): Turn {
  const isOpen = (part: Part): part is ToolPart => part.kind === "tool" && part.endedAt === null;
  const waiting = turn.parts.findLast(
    (part) => isOpen(part) && part.name === action.name && !part.hasWaited,
  );
  const parts = turn.parts.map((part) =>
    isOpen(part) && (part === waiting || part.name === SUB_AGENT)
      ? { ...part, hasWaited: true }
      : part,
  );
  return { ...turn, parts };
}

/**
 * A run that goes on has its answers: each event after a request says so. A question is of one
 * call, though, and other calls go on beside it: it waits for as long as its call does.
 */
function withApprovalsAnswered(turn: Turn): Turn {
  const isRunning = ({ name }: ActionRequest) =>
    turn.parts.some((part) => part.kind === "tool" && part.endedAt === null && part.name === name);
  const isOpen = (part: Part): part is ApprovalPart =>
    part.kind === "approval" &&
    (part.state === "open" || part.state === "sending") &&
    !(isQuestion(part) && isRunning(part.action));
  if (!turn.parts.some(isOpen)) return turn;
  const parts = turn.parts.map((part) =>
    isOpen(part)
      ? { ...part, state: part.decision ? ("decided" as const) : ("answered" as const) }
      : part,
  );
  return { ...turn, parts };
}

/** The plan stands once in an answer, where it was first made. */
function withTodos(turn: Turn, event: EventOf<"todo_update">): Turn {
  const at = turn.parts.findIndex((part) => part.kind === "todos");
  const known = turn.parts[at];
  if (known?.kind !== "todos") {
    return withPart(turn, { kind: "todos", key: event.seq, todos: event.data.todos });
  }
  return { ...turn, parts: turn.parts.with(at, { ...known, todos: event.data.todos }) };
}

function ended(turn: Turn, event: EventOf<"done">): Turn {
  const { cancelled, reason, token_usage: tokenUsage, metadata } = event.data;
  const hasFailed =
    reason === "failed" ||
    reason === "timeout" ||
    reason === "shutdown" ||
    turn.parts.some((part) => part.kind === "error");
  const status: TurnStatus = hasFailed ? "failed" : cancelled ? "cancelled" : "done";
  const parts = turn.parts.map((part) =>
    part.kind === "tool" && part.status === "running"
      ? { ...part, endedAt: event.timestamp, status: "error" as const }
      : part,
  );
  const figures = metadata?.figures ?? null;
  const end = { reason, cancelled, tokenUsage, figures, at: event.timestamp };
  return { ...turn, parts, status, end };
}
