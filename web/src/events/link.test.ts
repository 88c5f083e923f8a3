// @vitest-environment happy-dom
/**
 * The link against a real WebSocket server: what it asks for, hands over, and when it comes back.
 */

import { once } from "node:events";
import type { AddressInfo } from "node:net";

import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { WebSocketServer, type WebSocket as Peer } from "ws";

import { ConversationLink, type LinkStatus } from "./link";
import type { Notice, RunEvent } from "./types";

let server: WebSocketServer;
let link: ConversationLink | null = null;
let peers: { peer: Peer; address: string; heard: unknown[] }[];
let events: RunEvent[];
let batches: number;
let notices: Notice["event_type"][];
let statuses: LinkStatus[];
let knocks: number;

beforeEach(async () => {
  [peers, events, batches, notices, statuses, knocks] = [[], [], 0, [], [], 0];
  vi.stubGlobal(
    "WebSocket",
    class extends WebSocket {
      constructor(address: string) {
        super(address);
        knocks += 1;
      }
    },
  );
  server = new WebSocketServer({ port: 0, host: "127.0.0.1" });
  server.on("connection", (peer, request) => {
    const heard: unknown[] = [];
    peer.on("message", (data: Buffer) => heard.push(JSON.parse(data.toString())));
    peers.push({ peer, address: request.url ?? "", heard });
    peer.send(JSON.stringify({ event_type: "connected", data: {}, timestamp: 1 }));
  });
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  vi.stubGlobal("location", { protocol: "http:", host: `127.0.0.1:${port}` });
});

afterEach(async () => {
  link?.close();
  link = null;
  for (const { peer } of peers) peer.terminate();
  server.close();
  await once(server, "close");
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

/** From now on no waiting is real: all that is planned can be made to happen. */
const holdTimers = () => vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });

function open(): ConversationLink {
  link = new ConversationLink("s1", {
    after: () => events.at(-1)?.seq ?? 7,
    onEvents: (batch) => {
      batches += 1;
      events.push(...batch);
    },
    onNotice: (notice) => notices.push(notice.event_type),
    onStatus: (status) => statuses.push(status),
  });
  return link;
}

function say(seq: number, at = -1): void {
  const data = { content: "x", is_final: false, agent: null };
  const event = { event_type: "text", data, timestamp: 1, seq, run_id: "r" };
  peers.at(at)?.peer.send(JSON.stringify(event));
}

const becomes = (status: LinkStatus) =>
  vi.waitFor(() => expect(statuses.at(-1)).toBe(status), { timeout: 5000 });

test("it asks for what comes after the last event, and hands over many at once", async () => {
  open();
  await becomes("open");
  expect(peers.map((each) => each.address)).toEqual(["/ws/chat/s1?after=7"]);
  for (let seq = 8; seq < 58; seq += 1) say(seq);
  await vi.waitFor(() => expect(events).toHaveLength(50));
  expect(events.map((event) => event.seq)).toEqual(Array.from({ length: 50 }, (_, at) => at + 8));
  expect(batches).toBeLessThan(10);
});

test("a connection that breaks comes back by itself, from where it was", async () => {
  open();
  await becomes("open");
  say(8);
  say(9);
  await vi.waitFor(() => expect(peers[0]?.peer.readyState).toBe(1));
  peers[0]?.peer.close(1012);
  await becomes("lost");
  expect(events.map((event) => event.seq)).toEqual([8, 9]);
  await becomes("open");
  expect(peers.map((each) => each.address)).toEqual(["/ws/chat/s1?after=7", "/ws/chat/s1?after=9"]);
});

test("events are handed over before a notice that came after them", async () => {
  const order: string[] = [];
  link = new ConversationLink("s1", {
    after: () => 0,
    onEvents: (batch) => order.push(...batch.map((event) => `event ${event.seq}`)),
    onNotice: (notice) => order.push(notice.event_type),
    onStatus: (status) => statuses.push(status),
  });
  await becomes("open");
  say(1);
  peers[0]?.peer.send(JSON.stringify({ event_type: "gap", data: {}, timestamp: 1 }));
  await vi.waitFor(() => expect(order).toEqual(["connected", "event 1", "gap"]));
});

test.each([
  [4401, "signed_out"],
  [4403, "forbidden"],
  [4404, "missing"],
] as const)("closed with %i it is %s and does not knock again", async (code, status) => {
  open();
  await becomes("open");
  holdTimers();
  peers[0]?.peer.close(code);
  await becomes(status);
  vi.advanceTimersByTime(60_000);
  expect(knocks).toBe(1);
});

test("after a new login it connects at once", async () => {
  const opened = open();
  await becomes("open");
  peers[0]?.peer.close(4401);
  await becomes("signed_out");
  opened.reconnect();
  await becomes("open");
  expect(peers).toHaveLength(2);
});

test("what is said arrives; without a connection the caller is told", async () => {
  const opened = open();
  expect(opened.send("ping", {})).toBe(false);
  await becomes("open");
  expect(opened.send("chat", { message: "hi" })).toBe(true);
  await vi.waitFor(() =>
    expect(peers[0]?.heard).toEqual([{ type: "chat", payload: { message: "hi" } }]),
  );
});

test("a page that is shown again asks whether the socket lives", async () => {
  open();
  await becomes("open");
  document.dispatchEvent(new Event("visibilitychange"));
  await vi.waitFor(() => expect(peers[0]?.heard).toEqual([{ type: "ping", payload: {} }]));
});

test("closed by the page it stays closed", async () => {
  const opened = open();
  await becomes("open");
  const left = once(peers[0]?.peer ?? server, "close");
  holdTimers();
  opened.close();
  await left;
  window.dispatchEvent(new Event("online"));
  vi.advanceTimersByTime(60_000);
  expect(knocks).toBe(1);
});
