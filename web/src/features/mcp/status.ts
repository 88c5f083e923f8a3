/** What the server says of the state of servers and tools. Pure. */

import type { Schemas } from "@/api/client";
import type { Tone } from "@/components/ui/Badge";

const STATES = {
  idle: "idle",
  connecting: "connecting",
  ready: "ready",
  backoff: "backoff",
  "authentication required": "authRequired",
  quarantined: "quarantined",
  disabled: "disabled",
  closed: "closed",
} as const;

type State = (typeof STATES)[keyof typeof STATES];

export interface ServerStatus {
  status: "connected" | "disconnected" | "error";
  status_detail: string;
  disabled: boolean;
}

export const TONES = {
  connected: "good",
  disconnected: "neutral",
  error: "danger",
} as const satisfies Record<ServerStatus["status"], Tone>;

/** `status_detail` is `state` or `state: why`. A state that is not known is all reason. */
export function detailOf(text: string): { state: State | null; reason: string } {
  const [word = "", ...rest] = text.split(": ");
  const state = isState(word) ? STATES[word] : null;
  return state === null ? { state, reason: text } : { state, reason: rest.join(": ") };
}

function isState(word: string): word is keyof typeof STATES {
  return Object.hasOwn(STATES, word);
}

const WHILE_CONNECTING_MS = 2_000;
const WHILE_FAILING_MS = 5_000;
const AT_REST_MS = 15_000;

/** How soon to look again. */
export function lookAgainMs(servers: readonly ServerStatus[]): number {
  const isConnecting = servers.some((each) => detailOf(each.status_detail).state === "connecting");
  if (isConnecting) return WHILE_CONNECTING_MS;
  const isFailing = servers.some((each) => each.status === "error" && !each.disabled);
  return isFailing ? WHILE_FAILING_MS : AT_REST_MS;
}

type ToolTraits = Pick<Schemas["ServerToolInfo"], "annotations" | "asks_first" | "status">;

/** Whether a person could confirm what the tool says of itself, so that its calls ask no more. */
export function awaitsConfirmation({ annotations, asks_first, status }: ToolTraits): boolean {
  const saysReadOnly =
    annotations["readOnlyHint"] === true && annotations["destructiveHint"] !== true;
  return status === "active" && asks_first && saysReadOnly;
}
