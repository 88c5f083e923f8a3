/**
 * What every test has: a user of the server with the model it asks for, and a page that is watched.
 *
 * A dialog, a request to another origin, a violation of the page's policy or an error in the page
 * fails any test, whatever it looked at.
 */

import { test as base, expect, type Page } from "@playwright/test";

import { addUser, Client, type Account } from "./client";
import { ADMIN } from "./server";
import { addressVariable, type Model } from "./setup";

export { expect };

/** `user` is shared by a worker's tests, `new` is nobody else's. */
export type Who = "user" | "admin" | "new" | "nobody";

interface Options {
  model: Model;
  as: Who;
}

interface Fixtures {
  site: { url: string };
  /** Of whoever the test asks for; of a user where nobody is to be logged in on the page. */
  login: Login;
  /** Who is logged in on the page. */
  account: Account | null;
  /** The same login, for the API. */
  client: Client;
  /** What the page did that it must not do. */
  offences: string[];
}

interface WorkerFixtures {
  people: People;
}

/** The logins that a worker has made: each costs a password's hash. */
class People {
  readonly #logins = new Map<string, Promise<Login>>();
  #count = 0;

  constructor(private readonly worker: number) {}

  login(url: string, who: Exclude<Who, "nobody">): Promise<Login> {
    const key = who === "new" ? `new ${this.#count}` : `${who} ${url}`;
    const known = this.#logins.get(key);
    if (known) return known;
    const made = this.#make(url, who);
    this.#logins.set(key, made);
    return made;
  }

  async #make(url: string, who: Exclude<Who, "nobody">): Promise<Login> {
    const site = { url };
    this.#count += 1;
    const account =
      who === "admin"
        ? { id: "", ...ADMIN }
        : await addUser(site, `ann_${this.worker}_${this.#count}_${Date.now() % 100_000}`);
    return { account, client: await Client.login(site, account) };
  }
}

interface Login {
  account: Account;
  client: Client;
}

export const test = base.extend<Options & Fixtures, WorkerFixtures>({
  model: ["scripted", { option: true }],
  as: ["user", { option: true }],
  people: [
    async ({}, give, worker) => give(new People(worker.parallelIndex + 10 * worker.workerIndex)),
    { scope: "worker" },
  ],
  site: async ({ model }, give) => give({ url: process.env[addressVariable(model)] ?? "" }),
  baseURL: async ({ site }, give) => give(site.url),
  login: async ({ site, people, as }, give) =>
    give(await people.login(site.url, as === "nobody" ? "user" : as)),
  client: async ({ login }, give) => give(login.client),
  account: async ({ login, as }, give) => give(as === "nobody" ? null : login.account),
  storageState: async ({ client, as }, give) =>
    give({ cookies: as === "nobody" ? [] : cookiesOf(client), origins: [] }),
  offences: async ({}, give) => {
    const offences: string[] = [];
    await give(offences);
    expect(offences).toEqual([]);
  },
  page: async ({ page, site, offences }, give) => {
    await watch(page, site.url, offences);
    await give(page);
  },
});

/** The login as cookies of a browser. */
export function cookiesOf(client: Client) {
  return client.cookie.split("; ").map((each) => {
    const at = each.indexOf("=");
    return {
      name: each.slice(0, at),
      value: each.slice(at + 1),
      domain: "127.0.0.1",
      path: "/",
      expires: -1,
      httpOnly: true,
      secure: false,
      sameSite: "Lax" as const,
    };
  });
}

const IS_OWN = /^(data|blob|about|chrome-error|devtools):/;

/** Note what a page must never do. */
export async function watch(page: Page, origin: string, offences: string[]): Promise<void> {
  page.on("dialog", (dialog) => {
    offences.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on("request", (request) => {
    const url = request.url();
    const isOwn = url.startsWith(origin) || url.startsWith(origin.replace("http", "ws"));
    if (!isOwn && !IS_OWN.test(url)) offences.push(`request: ${url}`);
  });
  page.on("pageerror", (error) => offences.push(`error: ${error.message}`));
  await page.exposeFunction("__violated", (what: string) => offences.push(`policy: ${what}`));
  await page.addInitScript(() => {
    document.addEventListener("securitypolicyviolation", (event) => {
      const told = window as unknown as { __violated: (what: string) => void };
      told.__violated(`${event.violatedDirective} ${event.blockedURI} ${event.sourceFile}`);
    });
  });
}
