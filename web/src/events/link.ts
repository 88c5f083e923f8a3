/**
 * One conversation's WebSocket, held through sleep and lost networks.
 *
 * Reconnects with the last `seq` that was seen, so nothing is missed and nothing comes twice.
 * Events are handed over in batches of a frame: fifty a second must not mean fifty renderings.
 */

import { isRunEvent, type Notice, type RunEvent, type Wire } from "./types";

export type LinkStatus = "connecting" | "open" | "lost" | "signed_out" | "forbidden" | "missing";

interface LinkHandlers {
  /** The last event that is known, asked at each connection. */
  after: () => number;
  onEvents: (events: RunEvent[]) => void;
  onNotice: (notice: Notice) => void;
  onStatus: (status: LinkStatus) => void;
}

const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 10_000;
const PING_EVERY_MS = 20_000;
const PONG_WITHIN_MS = 10_000;
const BATCH_MS = 32;
const ENDS: Record<number, LinkStatus> = { 4401: "signed_out", 4403: "forbidden", 4404: "missing" };

export class ConversationLink {
  #socket: WebSocket | null = null;
  #wait = FIRST_WAIT_MS;
  #retry: ReturnType<typeof setTimeout> | undefined;
  #ping: ReturnType<typeof setInterval> | undefined;
  #pong: ReturnType<typeof setTimeout> | undefined;
  #flush: ReturnType<typeof setTimeout> | undefined;
  #batch: RunEvent[] = [];
  #isClosed = false;

  constructor(
    private readonly sessionId: string,
    private readonly handlers: LinkHandlers,
  ) {
    window.addEventListener("online", this.reconnect);
    document.addEventListener("visibilitychange", this.#onVisible);
    this.#connect();
  }

  /** Say something; false when there is no connection to say it on. */
  send(type: string, payload: object): boolean {
    if (this.#socket?.readyState !== WebSocket.OPEN) return false;
    this.#socket.send(JSON.stringify({ type, payload }));
    return true;
  }

  /** Try at once, for example after a new login or when the network is back. */
  reconnect = (): void => {
    if (this.#isClosed || this.#socket?.readyState === WebSocket.OPEN) return;
    clearTimeout(this.#retry);
    this.#wait = FIRST_WAIT_MS;
    this.#connect();
  };

  close(): void {
    this.#isClosed = true;
    window.removeEventListener("online", this.reconnect);
    document.removeEventListener("visibilitychange", this.#onVisible);
    clearTimeout(this.#retry);
    clearTimeout(this.#flush);
    this.#stopPings();
    this.#drop();
  }

  /** A laptop that slept may hold a dead socket: ask. */
  #onVisible = (): void => {
    if (document.visibilityState !== "visible") return;
    if (this.#socket?.readyState === WebSocket.OPEN) this.#sendPing();
    else this.reconnect();
  };

  #connect(): void {
    this.#drop();
    this.handlers.onStatus("connecting");
    const scheme = location.protocol === "https:" ? "wss" : "ws";
    const address = `${scheme}://${location.host}/ws/chat/${this.sessionId}?after=${this.handlers.after()}`;
    const socket = new WebSocket(address);
    this.#socket = socket;
    socket.addEventListener("message", (message) => this.#receive(String(message.data)));
    socket.addEventListener("close", (close) => {
      if (this.#socket === socket) this.#lost(close.code);
    });
  }

  #drop(): void {
    const socket = this.#socket;
    this.#socket = null;
    socket?.close();
  }

  #lost(code: number): void {
    this.#socket = null;
    this.#stopPings();
    this.#flushNow();
    if (this.#isClosed) return;
    const end = ENDS[code];
    this.handlers.onStatus(end ?? "lost");
    if (end !== undefined) return;
    this.#retry = setTimeout(() => this.#connect(), this.#wait * (0.75 + Math.random() / 2));
    this.#wait = Math.min(this.#wait * 2, LONGEST_WAIT_MS);
  }

  #receive(frame: string): void {
    clearTimeout(this.#pong);
    const message = JSON.parse(frame) as Wire; // the server's own form
    if (isRunEvent(message)) {
      this.#batch.push(message);
      this.#flush ??= setTimeout(this.#flushNow, BATCH_MS);
      return;
    }
    this.#flushNow();
    if (message.event_type === "connected") this.#opened();
    this.handlers.onNotice(message);
  }

  #opened(): void {
    this.#wait = FIRST_WAIT_MS;
    this.#stopPings();
    this.#ping = setInterval(() => this.#sendPing(), PING_EVERY_MS);
    this.handlers.onStatus("open");
  }

  #sendPing(): void {
    if (!this.send("ping", {})) return;
    clearTimeout(this.#pong);
    this.#pong = setTimeout(() => {
      this.#drop();
      this.#lost(0);
    }, PONG_WITHIN_MS);
  }

  #stopPings(): void {
    clearInterval(this.#ping);
    clearTimeout(this.#pong);
  }

  #flushNow = (): void => {
    clearTimeout(this.#flush);
    this.#flush = undefined;
    if (this.#batch.length === 0) return;
    const events = this.#batch;
    this.#batch = [];
    this.handlers.onEvents(events);
  };
}
