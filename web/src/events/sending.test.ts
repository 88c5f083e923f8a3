/** A message on its way to the server: sent, accepted, refused, taken back. */

import { expect, test } from "vitest";

import { play } from "./recorded";
import type { ConversationAction } from "./reduce";
import type { Question } from "./state";

const QUESTION: Question = {
  messageId: null,
  content: "Hello",
  attachments: [],
  skill: null,
  agentId: null,
};
const SENT: ConversationAction = {
  type: "sent",
  clientMessageId: "c1",
  question: QUESTION,
  at: 1,
};
const REFUSED: ConversationAction = {
  type: "refused",
  clientMessageId: "c1",
  error: "Too many",
  code: "limit_reached",
  retryAfter: 3,
};
const ACCEPTED: ConversationAction = {
  type: "accepted",
  clientMessageId: "c1",
  runId: "r1",
  messageId: "m1",
  at: 12,
};

test("a message is shown at once, and once", () => {
  expect(play([SENT, SENT]).turns.map((turn) => [turn.status, turn.question?.content])).toEqual([
    ["sending", "Hello"],
  ]);
});

test("a refusal says why and can be taken back", () => {
  const refused = play([SENT, REFUSED]);
  expect(refused.turns[0]).toMatchObject({
    status: "refused",
    refusal: { error: "Too many", code: "limit_reached", retryAfter: 3 },
  });
  expect(play([{ type: "withdrawn", clientMessageId: "c1" }], refused).turns).toEqual([]);
});

test("an accepted message is not refused, and not taken back", () => {
  const accepted = play([SENT, ACCEPTED, REFUSED, { type: "withdrawn", clientMessageId: "c1" }]);
  expect(accepted.turns.map((turn) => [turn.id, turn.status])).toEqual([["r1", "running"]]);
});

test("when it was asked is told by the server's clock once that is known", () => {
  expect(play([SENT, ACCEPTED]).turns[0]?.askedAt).toBe(12);
});

test("an acknowledgement that comes twice changes nothing", () => {
  expect(play([SENT, ACCEPTED, ACCEPTED])).toEqual(play([SENT, ACCEPTED]));
});

test("a message that was sent before a reload meets the history that has it", () => {
  const history = {
    thread_id: "t",
    total: 2,
    last_seq: 0,
    messages: (["user", "assistant"] as const).map((role) => ({
      message_id: role === "user" ? "m1" : "m2",
      session_id: "s",
      run_id: "r1",
      role,
      content: role === "user" ? "Hello" : "",
      status: role === "user" ? ("complete" as const) : ("running" as const),
      created_at: "2026-01-01T00:00:00.000Z",
      metadata: {},
      approvals: [],
      events: [],
    })),
  };
  const page = play([{ type: "history", history }, SENT, ACCEPTED]);
  expect(page.turns.map((turn) => [turn.runId, turn.question?.content])).toEqual([["r1", "Hello"]]);
});

test("a decision stands once the server has taken it, and is open again if it does not", () => {
  const asked: ConversationAction = {
    type: "event",
    event: {
      event_type: "hitl_request",
      data: {
        request_id: "q",
        action: { name: "write_file", args: {}, description: "" },
        allowed: ["approve"],
        expires_at: null,
      },
      timestamp: 1,
      seq: 1,
      run_id: "r1",
    },
  };
  const deciding: ConversationAction = {
    type: "deciding",
    requestId: "q",
    decision: { type: "approve" },
  };
  const stateOf = (actions: ConversationAction[]) => {
    const part = play(actions).turns[0]?.parts[0];
    return part?.kind === "approval" ? [part.state, part.decision] : null;
  };
  const decided: ConversationAction = { ...deciding, type: "decided" };
  expect(stateOf([asked, deciding])).toEqual(["sending", { type: "approve" }]);
  expect(stateOf([asked, deciding, decided])).toEqual(["decided", { type: "approve" }]);
  expect(stateOf([asked, deciding, { type: "undecided", requestId: "q" }])).toEqual(["open", null]);
});
