/** Asking and answering: what a turn shows, and what can be done with it. */

import { Chat } from "./kit/chat";
import { expect, test } from "./kit/fixtures";
import { requirement } from "./kit/requirement";

const ASKED = requirement("S7.2");
const SHOWN = requirement("S7.1b");
const STOPPED = requirement("S7.3g");

test(
  "a question is answered, gets an address and a title",
  { ...ASKED, tag: "@first" },
  async ({ page }) => {
    const chat = new Chat(page);
    await chat.begin("!echo Hello **there**");
    await chat.answered();
    await expect(chat.last.locator("strong")).toHaveText("there");
    await expect(page).toHaveTitle(/!echo Hello there/);
    await expect(page.getByRole("navigation", { name: "Conversations" })).toContainText(
      "!echo Hello there",
    );
  },
);

test("a new chat asks for nothing that is not there", async ({ page }) => {
  const refused: string[] = [];
  page.on("response", (answer) => {
    if (answer.status() >= 400) refused.push(`${answer.status()} ${answer.url()}`);
  });
  const chat = new Chat(page);
  await chat.begin("!echo first");
  await chat.answered();
  await chat.ask("!echo second");
  await expect(chat.turns).toHaveCount(2);
  await chat.answered();
  expect(refused).toEqual([]);
});

test("Shift+Enter makes a line, Enter sends, an empty message is not sent", async ({ page }) => {
  const chat = new Chat(page);
  await chat.open();
  await chat.input.press("Enter");
  await expect(page).toHaveURL(/\/$/);
  await chat.input.fill("!echo one");
  await chat.input.press("Shift+Enter");
  await chat.input.pressSequentially("!echo two");
  await chat.input.press("Enter");
  await chat.answered();
  await expect(chat.last).toContainText("one");
  await expect(chat.last).toContainText("two");
});

test("thinking, plan, tools and sub-agents are shown as such", SHOWN, async ({ page }) => {
  const chat = new Chat(page);
  await chat.begin(
    [
      "!think Let me look.",
      '!tool write_todos {"todos": [{"content": "Look at it", "status": "completed"}, {"content": "Say it", "status": "in_progress"}]}',
      '!tool ls {"path": "/"}',
      '!tool task {"description": "!echo from below", "subagent_type": "general-purpose"}',
      '!tool sql_db_query {"query": "SELECT nothing FROM nowhere"}',
      "!echo All done.",
    ].join("\n"),
  );
  await chat.answered();
  const answer = chat.last;
  await answer.getByRole("button", { name: /Thought/ }).click();
  await expect(answer.getByText("Let me look.", { exact: true })).toBeVisible();
  await expect(answer.getByRole("listitem").filter({ hasText: "Look at it" })).toBeVisible();
  await expect(answer.getByRole("button", { name: /Plan 1 of 2/ })).toBeVisible();
  await expect(answer.getByRole("button", { name: /^Done List files/ })).toBeVisible();
  await expect(answer.getByRole("button", { name: /^Failed Query the data/ })).toBeVisible();
  await answer.getByRole("button", { name: /An assistant helped/ }).click();
  await expect(answer.getByText("from below").last()).toBeVisible();

  const query = answer.getByRole("button", { name: /^Failed Query the data/ });
  await expect(query).toHaveAttribute("aria-expanded", "false");
  await query.click();
  await expect(answer.getByText("sql_db_query · Failed")).toBeVisible();
  await expect(answer.getByRole("figure", { name: "SQL" })).toContainText("FROM nowhere");
});

test(
  "a running answer can be stopped, and what was written stays",
  { ...STOPPED, tag: "@first" },
  async ({ page }) => {
    const chat = new Chat(page);
    await chat.begin("!slow 600 50");
    await expect(chat.last).toContainText("chunk3");
    await chat.stop.click();
    await chat.stands("The answer was stopped.");
    await expect(chat.last).toContainText("chunk3");
    await expect(chat.last).not.toContainText("chunk599");
    await expect(chat.stop).toBeHidden();
  },
);

test("Escape stops, too", async ({ page }) => {
  const chat = new Chat(page);
  await chat.begin("!slow 600 50");
  await expect(chat.last).toContainText("chunk2");
  await chat.input.press("Escape");
  await chat.stands("The answer was stopped.");
});

test("a failed answer says why and can be asked again", async ({ page }) => {
  const chat = new Chat(page);
  await chat.begin("!fail recoverable");
  await chat.stands("The answer has failed.");
  const alert = chat.last.getByRole("alert");
  await expect(alert).toContainText("The scripted model fails as told");
  await alert.getByRole("button", { name: "Ask again" }).click();
  await expect(chat.turns).toHaveCount(2);
  await chat.stands("The answer has failed.");
});

test("a question can be changed and sent again", async ({ page }) => {
  const chat = new Chat(page);
  await chat.begin("!echo first wording");
  await chat.answered();
  await chat.last.getByRole("button", { name: "Edit and send again" }).click();
  await expect(chat.input).toHaveValue("!echo first wording");
  await expect(chat.input).toBeFocused();
  await chat.ask("!echo second wording");
  await expect(chat.turns).toHaveCount(2);
  await chat.answered();
  await expect(chat.last).toContainText("second wording");
});

test("an answer is copied as it was written", async ({ page, context }) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  const chat = new Chat(page);
  await chat.begin("!echo Hello **there** 😀");
  await chat.answered();
  await chat.last.getByRole("button", { name: "Copy the answer" }).click();
  await expect
    .poll(() => page.evaluate(() => navigator.clipboard.readText()))
    .toBe("Hello **there** 😀");
});

test("while an answer is written the next question waits in the input", async ({ page }) => {
  const chat = new Chat(page);
  await chat.begin("!slow 60 50");
  await expect(chat.last).toContainText("chunk1");
  await chat.ask("!echo second");
  await expect(chat.input).toHaveValue("!echo second");
  await expect(chat.turns).toHaveCount(1);
  await chat.answered();
  await chat.input.press("Enter");
  await expect(chat.turns).toHaveCount(2);
  await chat.answered();
});

test("what belongs to somebody else, or to nobody, says so", async ({ page, people, site }) => {
  const { client } = await people.login(site.url, "admin");
  const { session_id: theirs } = await client.ask("!echo mine");
  await page.goto(`/chat/${theirs}`);
  await expect(page.getByText("This conversation is not here")).toBeVisible();
  await page.getByRole("link", { name: "Start a new chat" }).click();
  await expect(page.getByRole("textbox", { name: "Your question" })).toBeVisible();
});
