// @vitest-environment happy-dom
/** A conversation's history, as the server keeps it. */

import { afterEach, expect, it } from "vitest";

import { loopback } from "@/api/loopback";
import { queryClient } from "@/api/queries";

import { loadHistory } from "./stored";

const server = loopback();

afterEach(() => queryClient.clear());

/** The server knows these addresses. */
function knows(known: Record<string, object>): void {
  const refusal = { status: 404, body: { error_code: "not_found", message: "No." } };
  server.answer = ({ path }) => {
    const body = known[path];
    return body ? { body } : refusal;
  };
}

const ONE = "/api/conversations/c1";
const HISTORY = "/api/threads/t1/history";
const EMPTY = { messages: [], total: 0, last_seq: 0 };

it("the thread of a conversation is asked for once", async () => {
  knows({ [ONE]: { id: "c1", thread_id: "t1" }, [HISTORY]: EMPTY });
  expect(await loadHistory("c1")).toEqual(EMPTY);
  expect(await loadHistory("c1", 10)).toEqual(EMPTY);
  expect(server.asked.map(({ path }) => path)).toEqual([ONE, HISTORY, HISTORY]);
  expect(server.asked.at(-1)?.query).toEqual({ offset: "0", limit: "10" });
});

it("a conversation that does not exist has none, nor has one that was deleted since", async () => {
  knows({});
  expect(await loadHistory("c1")).toBeNull();
  knows({ [ONE]: { id: "c1", thread_id: "t1" } });
  expect(await loadHistory("c1")).toBeNull();
});
