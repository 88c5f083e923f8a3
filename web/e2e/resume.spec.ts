/** Reload, lost networks, a dead server and second tabs in the middle of an answer lose nothing. */

import { expect as plainExpect, type Page } from "@playwright/test";

import { Chat, steady } from "./kit/chat";
import { cookiesOf, expect, test, watch } from "./kit/fixtures";
import { Client } from "./kit/client";
import { Server } from "./kit/server";
import { requirement } from "./kit/requirement";

const TABS = requirement("S7.2");
const RELOAD = requirement("S7.2", "S7.3b");

const LONG = [
  "!think I look at the tables first.",
  '!tool write_todos {"todos": [{"content": "Look", "status": "in_progress"}, {"content": "Say", "status": "pending"}]}',
  "!slow 40 60",
  '!tool sql_db_query {"query": "SELECT BillingCountry AS country, SUM(Total) AS total FROM Invoice GROUP BY 1 ORDER BY 2 DESC", "title": "Sales by country"}',
  '!tool task {"description": "!slow 20 60", "subagent_type": "general-purpose"}',
  "!echo And then:",
  "!slow 40 60",
].join("\n");

/** The whole transcript as it is shown at this moment. */
async function transcript(chat: Chat): Promise<string> {
  return steady(await chat.turns.evaluateAll((all) => all.map((one) => one.outerHTML).join("\n")));
}

async function isOver(chat: Chat): Promise<void> {
  await expect(chat.last.getByRole("status").last()).toHaveText("Answered.");
  await expect(chat.last.getByRole("table").first()).toBeVisible();
}

/**
 * Both show the same. What is loaded later, such as colours of code, may come a moment later in
 * one.
 */
async function endUpAlike(one: Chat, other: Chat): Promise<void> {
  await isOver(one);
  await isOver(other);
  await expect(async () => {
    plainExpect(await transcript(other)).toBe(await transcript(one));
  }).toPass({ timeout: 120_000 });
}

async function isUnderWay(chat: Chat): Promise<boolean> {
  return (await chat.last.getByRole("status").last().textContent()) !== "Answered.";
}

test.use({ viewport: { width: 1280, height: 2400 } });

test("reloaded at 20 moments of an answer, the page ends up as without a reload", async ({
  page,
  context,
}) => {
  test.setTimeout(300_000);
  const chat = new Chat(page);
  const other = await context.newPage();
  const reloaded = new Chat(other);
  let reloads = 0;
  while (reloads < 20) {
    // an answer that ends sooner is followed by one in another conversation
    await reloaded.open(await chat.begin(LONG));
    while (reloads < 20 && (await isUnderWay(chat))) {
      await other.reload({ waitUntil: "commit" });
      reloads += 1;
      await other.waitForTimeout(Math.random() * 250);
    }
    await endUpAlike(chat, reloaded);
    plainExpect(await transcript(chat)).toContain("chunk39");
  }
});

test("a question with all that goes with it, and what was decided, are the same after a reload", async ({
  page,
}) => {
  const chat = new Chat(page);
  await chat.open();
  await chat.input.pressSequentially("/");
  await expect(page.getByRole("option").first()).toBeVisible();
  await chat.input.press("Enter");
  const csv = { mimeType: "text/csv", buffer: Buffer.from("a,b\n1,2\n") };
  await page.locator("main input[type=file]").setInputFiles([{ name: "with.csv", ...csv }]);
  await expect(page.getByRole("button", { name: "Remove with.csv" })).toBeVisible();
  await expect(page.getByRole("progressbar")).toHaveCount(0);
  await page.getByRole("button", { name: "General", exact: true }).click();
  await chat.ask(
    [
      "!think I write it down.",
      '!tool write_file {"file_path": "/kept.md", "content": "one"}',
      '!tool sql_db_query {"query": "SELECT nothing FROM nowhere"}',
      "!echo Written.",
    ].join("\n"),
  );
  await chat.last.getByRole("button", { name: "Change it" }).click();
  await chat.last.getByRole("textbox", { name: /content/i }).fill("two");
  await chat.last.getByRole("button", { name: "Approve with changes" }).click();
  await chat.answered();
  const live = await transcript(chat);
  plainExpect(live).toContain("with.csv");
  await page.reload();
  await chat.answered();
  await expect(async () => plainExpect(await transcript(chat)).toBe(live)).toPass();
});

test(
  "the text before a reload is there at once, and goes on",
  { ...RELOAD, tag: "@first" },
  async ({ page }) => {
    const chat = new Chat(page);
    await chat.begin("!slow 80 50");
    await expect(chat.last).toContainText("chunk10");
    await page.reload();
    await expect(chat.last).toContainText("chunk0 chunk1 chunk2");
    await chat.answered();
    const words = Array.from({ length: 80 }, (_, at) => `chunk${at}`).join(" ");
    await expect(chat.last).toContainText(words);
  },
);

test(
  "two tabs show the same answer while it is written, the question, too",
  TABS,
  async ({ page, context }) => {
    const chat = new Chat(page);
    const id = await chat.begin("!echo hello");
    await chat.answered();
    const other = new Chat(await context.newPage());
    await other.open(id);
    await other.answered();
    await chat.ask("!slow 900 40");
    await expect(other.turns).toHaveCount(2);
    await expect(other.last).toContainText("!slow 900 40");
    await expect(other.last).toContainText("chunk2");
    await other.stop.click();
    await chat.stands("The answer was stopped.");
    await other.stands("The answer was stopped.");
  },
);

test("without a network the page says so, and catches up afterwards", async ({ page, context }) => {
  const chat = new Chat(page);
  await chat.begin("!slow 60 50");
  await expect(chat.last).toContainText("chunk3");
  await context.setOffline(true);
  await expect(page.getByText("You are offline.")).toBeVisible();
  await context.setOffline(false);
  await expect(page.getByText("You are offline.")).toBeHidden();
  await chat.answered();
  await expect(chat.last).toContainText("chunk0 chunk1 chunk2");
  await expect(chat.last).toContainText("chunk58 chunk59");
});

test.describe("a server of its own", () => {
  let server: Server;

  test.beforeAll(async () => {
    test.setTimeout(180_000);
    server = await Server.start({ DATAAGENT_MODEL: "scripted" });
  });
  test.afterAll(async () => server.remove());

  async function openOn(page: Page, offences: string[]): Promise<Chat> {
    const client = await Client.admin(server);
    await page.context().addCookies(cookiesOf(client));
    await page.goto(server.url);
    offences.length = 0; // another origin than the shared servers', on purpose
    return new Chat(page);
  }

  test("the link that the server prints logs in, once", async ({ browser }) => {
    const printed = await server.command(["user", "link", "admin"]);
    const link = /\/login\?token=\S+/.exec(printed)?.[0];
    expect(link).toBeDefined();
    const address = `${server.url}${link ?? ""}`;
    const context = await browser.newContext({ storageState: { cookies: [], origins: [] } });
    const page = await context.newPage();
    const offences: string[] = [];
    await watch(page, server.url, offences);
    await page.goto(address);
    await page.getByRole("button", { name: "Log in" }).click();
    await expect(page.getByRole("textbox", { name: "Your question" })).toBeVisible();
    await context.clearCookies();
    await page.goto(address);
    await page.getByRole("button", { name: "Log in" }).click();
    await expect(page.getByText("This login link was used already")).toBeVisible();
    expect(offences).toEqual([]);
    await context.close();
  });

  test("killed in the middle of an answer and started again, it ends visibly and goes on", async ({
    browser,
  }) => {
    test.setTimeout(180_000);
    const context = await browser.newContext();
    const page = await context.newPage();
    const chat = await openOn(page, []);
    await chat.ask("!slow 400 50");
    await expect(chat.last).toContainText("chunk20");
    await server.kill();
    await expect(page.getByText("The connection is interrupted.")).toBeVisible();
    await chat.input.fill("!echo after the restart");
    await server.start();
    await expect(page.getByText("The connection is interrupted.")).toBeHidden();
    await expect(chat.last.getByRole("status").last()).toHaveText("The answer has failed.");
    await expect(chat.last).toContainText("chunk0 chunk1");
    await chat.input.press("Enter");
    await expect(chat.turns).toHaveCount(2);
    await chat.answered();
    await expect(chat.last).toContainText("after the restart");
    await context.close();
  });
});
