import { afterEach, expect, it, vi } from "vitest";

import { api } from "@/api/client";
import { queryClient } from "@/api/queries";

import { loadHistory } from "./stored";

afterEach(() => queryClient.clear());

/** A server that knows these addresses, and which of them were asked for. */
function server(known: Record<string, object>): string[] {
  const asked: string[] = [];
  vi.spyOn(api, "GET").mockImplementation((address: string) => {
    asked.push(address);
    const data = known[address];
    const response = new Response(null, { status: data ? 200 : 404 });
    return Promise.resolve(data ? { data, response } : { error: {}, response }) as never; // any of its answers
  });
  return asked;
}

const ONE = "/api/conversations/{conversation_id}";
const HISTORY = "/api/threads/{thread_id}/history";
const EMPTY = { messages: [], total: 0, last_seq: 0 };

it("the thread of a conversation is asked for once", async () => {
  const asked = server({ [ONE]: { id: "c1", thread_id: "t1" }, [HISTORY]: EMPTY });
  expect(await loadHistory("c1")).toBe(EMPTY);
  expect(await loadHistory("c1", 10)).toBe(EMPTY);
  expect(asked).toEqual([ONE, HISTORY, HISTORY]);
  expect(vi.mocked(api.GET).mock.lastCall?.[1]).toEqual({
    params: { path: { thread_id: "t1" }, query: { offset: 0, limit: 10 } },
  });
});

it("a conversation that does not exist has none, nor has one that was deleted since", async () => {
  server({});
  expect(await loadHistory("c1")).toBeNull();
  server({ [ONE]: { id: "c1", thread_id: "t1" } });
  expect(await loadHistory("c1")).toBeNull();
});
