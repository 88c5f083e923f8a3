/** What tests do through the API instead of the page: prepare, and look. */

import type { components } from "../../src/api/schema";
import type { RunEvent } from "../../src/events/types";
import { ADMIN } from "./server";

type Schemas = components["schemas"];
export type History = Schemas["ThreadHistory"];

/** Where a server is. */
export interface Site {
  readonly url: string;
}

export interface Account {
  id: string;
  username: string;
  password: string;
}

/** A login of one user. */
export class Client {
  private constructor(
    readonly site: Site,
    /** The login, as a `Cookie` header. */
    readonly cookie: string,
  ) {}

  static async login(site: Site, as: Pick<Account, "username" | "password">): Promise<Client> {
    const { username, password } = as;
    const answer = await fetch(`${site.url}/api/auth/login`, {
      method: "POST",
      headers: { "Content-Type": "application/json", Origin: site.url },
      body: JSON.stringify({ username, password }),
    });
    if (!answer.ok) throw new Error(`login of ${username}: ${answer.status}`);
    const cookies = answer.headers.getSetCookie().map((each) => each.split(";")[0] ?? "");
    return new Client(site, cookies.join("; "));
  }

  static admin(site: Site): Promise<Client> {
    return Client.login(site, ADMIN);
  }

  async send(method: string, path: string, body?: object): Promise<Response> {
    const answer = await fetch(this.site.url + path, {
      method,
      headers: {
        Cookie: this.cookie,
        Origin: this.site.url,
        ...(body && { "Content-Type": "application/json" }),
      },
      ...(body && { body: JSON.stringify(body) }),
    });
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
    return answer;
  }

  async get<Answer>(path: string): Promise<Answer> {
    return (await (await this.send("GET", path)).json()) as Answer;
  }

  async post<Answer>(path: string, body?: object): Promise<Answer> {
    return (await (await this.send("POST", path, body ?? {})).json()) as Answer;
  }

  /** Ask and wait for the end, or for an approval that the run waits for. */
  ask(message: string, more: object = {}): Promise<Schemas["ChatResponse"]> {
    return this.post("/api/v1/chat", { message, ...more });
  }

  /** A file of comma-separated values as a data source. */
  async upload(name: string, csv: string): Promise<void> {
    const form = new FormData();
    form.set("name", name);
    form.set("file", new Blob([csv], { type: "text/csv" }), `${name}.csv`);
    const answer = await fetch(`${this.site.url}/api/v1/data-sources/upload`, {
      method: "POST",
      headers: { Cookie: this.cookie, Origin: this.site.url },
      body: form,
    });
    if (!answer.ok) throw new Error(`upload of ${name}: ${answer.status} ${await answer.text()}`);
  }

  async history(sessionId: string): Promise<History> {
    const { thread_id: thread } = await this.get<Schemas["ConversationInfo"]>(
      `/api/conversations/${sessionId}`,
    );
    return this.get(`/api/threads/${thread}/history`);
  }

  /** Events of a session as they come, until one is the last that is wanted. */
  async *events(sessionId: string, after = 0): AsyncGenerator<RunEvent> {
    const stop = new AbortController();
    const answer = await fetch(
      `${this.site.url}/api/v1/sessions/${sessionId}/events?after=${after}`,
      { headers: { Cookie: this.cookie }, signal: stop.signal },
    );
    const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader();
    try {
      let rest = "";
      for (;;) {
        const piece = await reader?.read();
        if (piece === undefined || piece.done) return;
        const blocks = (rest + piece.value).split(/\r?\n\r?\n/);
        rest = blocks.pop() ?? "";
        for (const block of blocks) {
          const data = /^data: ?(.*)$/m.exec(block)?.[1];
          if (data !== undefined) yield JSON.parse(data) as RunEvent;
        }
      }
    } finally {
      stop.abort();
    }
  }
}

/** A new user, made by the administrator. */
export async function addUser(site: Site, username: string): Promise<Account> {
  const password = "a-long-user-password";
  const admin = await Client.admin(site);
  const body = { username, password, role: "user" };
  const { id } = await admin.post<Schemas["UserInfo"]>("/api/users", body);
  return { id, username, password };
}
