/**
 * A server on loopback, for tests: requests of a page go over the network to what a test answers.
 */

import { once } from "node:events";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

import { afterEach, beforeEach } from "vitest";

/** A request, as it arrived. */
export interface Asked {
  method: string;
  path: string;
  query: Record<string, string>;
}

/** What is said to it: an answer, nothing while the test lasts, or the line is cut. */
export type Reply = { status?: number; body?: object } | "nothing" | "cut";

interface Loopback {
  /** All that was asked, in order. */
  asked: Asked[];
  /** What the next requests are answered with. */
  answer: (asked: Asked) => Reply;
}

declare const window: {
  happyDOM: { setURL: (address: string) => void; abort: () => Promise<void> };
};

/**
 * A server for each test of a file, and a page that came from it. Until told, it says nothing.
 *
 * To be called before the file's own `afterEach`, so that it ends when nobody asks any more.
 */
export function loopback(): Loopback {
  const shown: Loopback = { asked: [], answer: () => "nothing" };
  let server: Server;
  beforeEach(async () => {
    shown.asked = [];
    shown.answer = () => "nothing";
    server = serve(shown).listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo; // as TCP servers have
    window.happyDOM.setURL(`http://127.0.0.1:${port}/`);
  });
  afterEach(async () => {
    await window.happyDOM.abort();
    server.close();
    server.closeAllConnections();
    await once(server, "close");
  });
  return shown;
}

function say(response: ServerResponse, status: number, body: object | undefined): void {
  response.writeHead(status, { "Content-Type": "application/json" });
  response.end(body && JSON.stringify(body));
}

function serve(shown: Loopback): Server {
  return createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? "", "http://loopback");
    const asked = {
      method: request.method ?? "",
      path: pathname,
      query: Object.fromEntries(searchParams),
    };
    shown.asked.push(asked);
    const reply = shown.answer(asked);
    if (reply === "cut") request.socket.destroy();
    else if (reply !== "nothing") say(response, reply.status ?? 200, reply.body);
  });
}
