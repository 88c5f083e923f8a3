// @vitest-environment happy-dom
/** Messages that wait for the server. */

import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { outbox, toWire, type OutgoingMessage } from "./outbox";

function message(clientMessageId: string, more: object = {}): OutgoingMessage {
  const question = {
    messageId: null,
    content: `text of ${clientMessageId}`,
    attachments: [],
    skill: null,
    agentId: null,
    ...more,
  };
  return { clientMessageId, question, at: 1 };
}

beforeEach(() => sessionStorage.clear());
afterEach(() => vi.unstubAllGlobals());

test("a message stays until it is taken out, in its own conversation", () => {
  outbox.put("s1", message("a"));
  outbox.put("s1", message("b"));
  outbox.put("s2", message("c"));
  outbox.take("s1", "a");
  expect(outbox.of("s1").map((each) => each.clientMessageId)).toEqual(["b"]);
  expect(outbox.of("s2").map((each) => each.clientMessageId)).toEqual(["c"]);
});

test("a conversation is new until the server has its first message", () => {
  outbox.begin("s3", message("a"));
  expect(outbox.of("s3").map((each) => each.clientMessageId)).toEqual(["a"]);
  expect(outbox.isFirst("s3")).toBe(true);
  outbox.take("s3", "a");
  outbox.put("s3", message("b"));
  outbox.put("s1", message("c"));
  expect(outbox.isFirst("s1")).toBe(false);
});

test("nothing is left behind when all are taken", () => {
  outbox.put("s1", message("a"));
  outbox.take("s1", "a");
  expect(sessionStorage.length).toBe(0);
});

test("a browser that keeps nothing loses no message while the page is open", () => {
  const refuse = () => {
    throw new DOMException("no room", "QuotaExceededError");
  };
  vi.stubGlobal("sessionStorage", { getItem: refuse, setItem: refuse, removeItem: refuse });
  outbox.begin("s4", message("a"));
  outbox.put("s4", message("b"));
  expect(outbox.isFirst("s4")).toBe(true);
  expect(outbox.of("s4").map((each) => each.clientMessageId)).toEqual(["a", "b"]);
  outbox.take("s4", "a");
  outbox.take("s4", "b");
  expect(outbox.of("s4")).toEqual([]);
});

test("what cannot be read is no message", () => {
  sessionStorage.setItem("dataagent.outbox.s1", "{broken");
  expect(outbox.of("s1")).toEqual([]);
});

test("on the wire only what was chosen is named", () => {
  expect(toWire(message("a"))).toEqual({ message: "text of a", client_message_id: "a" });
  const chosen = {
    attachments: [{ fileId: "f1", filename: "x.csv" }],
    skill: "report",
    agentId: "sql",
  };
  expect(toWire(message("b", chosen))).toEqual({
    message: "text of b",
    client_message_id: "b",
    assistant_id: "sql",
    skill: "report",
    file_ids: ["f1"],
  });
});
