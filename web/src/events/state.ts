/** What a conversation looks like: turns of a question and an answer made of parts. Plain data. */

import type {
  ActionRequest,
  ArtifactKind,
  Decision,
  DecisionType,
  DoneReason,
  Figures,
  FileOperation,
  Json,
  JsonObject,
  Todo,
  ToolStatus,
} from "./types";

export interface Attachment {
  fileId: string;
  filename: string;
}

export interface Question {
  messageId: string | null;
  content: string;
  attachments: Attachment[];
  skill: string | null;
  agentId: string | null;
}

/** `key` is the `seq` of the event that began the part: stable across reloads. */
interface PartBase {
  key: number;
}

export interface TextPart extends PartBase {
  kind: "text";
  agent: string | null;
  content: string;
  isFinal: boolean;
  /** Where it begins in the whole answer, in code points; figures are counted in that text. */
  start: number;
}

export interface ThinkingPart extends PartBase {
  kind: "thinking";
  agent: string | null;
  content: string;
  startedAt: number;
  endedAt: number;
}

export interface ToolPart extends PartBase {
  kind: "tool";
  callId: string;
  name: string;
  args: JsonObject;
  agent: string | null;
  status: "running" | ToolStatus;
  result: Json;
  startedAt: number;
  endedAt: number | null;
  /** It waited for an approval, for how long is not told: its own time is not known. */
  hasWaited: boolean;
}

export interface ApprovalPart extends PartBase {
  kind: "approval";
  requestId: string;
  action: ActionRequest;
  allowed: DecisionType[];
  expiresAt: number | null;
  /** `answered`: the run went on, how is not known here yet. */
  state: "open" | "sending" | "answered" | "decided";
  decision: Decision | null;
}

/** A question in the middle of a call (an MCP server's form), not a call that waits for a yes. */
export function isQuestion(part: ApprovalPart): boolean {
  return part.requestId.startsWith("ask-");
}

export interface TodosPart extends PartBase {
  kind: "todos";
  todos: Todo[];
}

export interface FilePart extends PartBase {
  kind: "file";
  operation: FileOperation;
  path: string;
  metrics: Record<string, number>;
  diff: string | null;
  status: ToolStatus;
}

export interface ArtifactPart extends PartBase {
  kind: "artifact";
  artifactId: string;
  artifactKind: ArtifactKind;
  title: string;
  url: string;
  preview: JsonObject | null;
}

export interface ErrorPart extends PartBase {
  kind: "error";
  error: string;
  code: string;
  recoverable: boolean;
}

export type Part =
  | TextPart
  | ThinkingPart
  | ToolPart
  | ApprovalPart
  | TodosPart
  | FilePart
  | ArtifactPart
  | ErrorPart;

export type TurnStatus = "sending" | "refused" | "running" | "done" | "cancelled" | "failed";

export interface TurnEnd {
  reason: DoneReason;
  cancelled: boolean;
  tokenUsage: Record<string, number> | null;
  figures: Figures | null;
  at: number;
}

export interface Turn {
  /** `client_message_id` while the run is not known, then the run's id. */
  id: string;
  runId: string | null;
  clientMessageId: string | null;
  /** null: it was asked in another tab and is not loaded yet. */
  question: Question | null;
  parts: Part[];
  status: TurnStatus;
  /** Why the server would not take the message. */
  refusal: { error: string; code: string; retryAfter: number | null } | null;
  end: TurnEnd | null;
  /** By the server's clock, as soon as it has the message. */
  askedAt: number;
  answerLength: number; // code points of the main agent's text so far
  isBetweenTexts: boolean;
}

export interface ConversationState {
  turns: Turn[];
  /** The last event that is in here. */
  lastSeq: number;
  /** How many messages stand before the first turn and are not loaded. */
  earlier: number;
}

export const EMPTY_CONVERSATION: ConversationState = { turns: [], lastSeq: 0, earlier: 0 };

/** The turn that is being answered, if there is one. */
export function activeTurn(state: ConversationState): Turn | null {
  return state.turns.findLast((turn) => turn.status === "running") ?? null;
}

/** The requests of a turn that wait for a decision here. */
export function openApprovals(turn: Turn): ApprovalPart[] {
  if (turn.status !== "running") return [];
  return turn.parts.filter(
    (part): part is ApprovalPart => part.kind === "approval" && part.state === "open",
  );
}

/** The answer as one text, as the server counts figures in it: a blank line between messages. */
export function answerText(turn: Turn): string {
  let length = 0;
  let answer = "";
  for (const part of turn.parts) {
    if (part.kind !== "text" || part.agent !== null) continue;
    answer += (part.start > length ? "\n\n" : "") + part.content;
    length = part.start + codePoints(part.content);
  }
  return answer;
}

/** A text's length as the server counts it. */
export function codePoints(text: string): number {
  return Array.from(text).length;
}
