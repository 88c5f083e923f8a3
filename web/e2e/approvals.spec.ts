/** A step that needs a yes: given, refused, changed, given for good, several at once. */

import type { Locator } from "@playwright/test";

import { Chat } from "./kit/chat";
import { expect, test } from "./kit/fixtures";
import { requirement } from "./kit/requirement";

const TITLE = "Write a file: allow this?";

function write(path: string, content: string): string {
  return `!tool write_file ${JSON.stringify({ file_path: path, content })}`;
}

function request(chat: Chat): Locator {
  return chat.last.getByRole("region", { name: TITLE });
}

test(
  "approved, the file is written and its change shown",
  { ...requirement("R18.2"), tag: "@first" },
  async ({ page }) => {
    const chat = new Chat(page);
    await chat.begin(`${write("/approved.md", "one\ntwo\n")}\n!echo Written.`);
    await chat.stands("The answer waits for your decision.");
    const card = request(chat);
    await expect(card).toContainText("/approved.md");
    await expect(card).toContainText(/left/);
    await card.getByRole("button", { name: "Approve", exact: true }).click();
    await chat.answered();
    await expect(chat.last.getByRole("button", { name: /^Approved/ })).toBeVisible();
    await expect(chat.last.getByRole("group", { name: "Changes in /approved.md" })).toContainText(
      "+one",
    );
  },
);

test("a change of a file is shown before it is approved", async ({ page }) => {
  const chat = new Chat(page);
  await chat.begin(`${write("/changed.md", "one\ntwo\n")}\n!echo Written.`);
  await request(chat).getByRole("button", { name: "Approve", exact: true }).click();
  await chat.answered();
  await chat.ask(write("/changed.md", "one\nthree\n"));
  const change = request(chat).getByRole("group", { name: "Changes in /changed.md" });
  await expect(change).toContainText("-two");
  await expect(change).toContainText("+three");
});

test.describe("in Chinese", () => {
  test.use({ locale: "zh-CN" });

  test("it says what would be done in the user's language", async ({ page }) => {
    const chat = new Chat(page);
    await chat.open();
    const input = page.getByRole("textbox").last();
    await input.fill(write("/chinese.md", "一"));
    await input.press("Enter");
    const card = page.getByRole("region", { name: "写入文件：是否允许？" });
    await expect(card).toContainText("同名文件会被替换");
    await expect(card).not.toContainText("Write a file");
  });
});

test("rejected, the answer ends and says so", async ({ page }) => {
  const chat = new Chat(page);
  await chat.begin(write("/rejected.md", "no"));
  await request(chat).getByRole("button", { name: "Reject", exact: true }).click();
  await chat.last.getByRole("textbox", { name: "Why not? (optional)" }).fill("Not on a Monday");
  await chat.last.getByRole("button", { name: "Reject", exact: true }).click();
  await chat.stands("The answer was stopped.");
  await expect(chat.last).toContainText("Stopped, because a step was rejected.");
  await chat.last.getByRole("button", { name: /^Rejected/ }).click();
  await expect(chat.last).toContainText("Not on a Monday");
});

test("changed before it is approved, the change is what is done", async ({ page }) => {
  const chat = new Chat(page);
  await chat.begin(`${write("/first.md", "draft")}\n!echo Written.`);
  await request(chat).getByRole("button", { name: "Change it" }).click();
  const form = chat.last;
  await form.getByRole("textbox", { name: /file.?path/i }).fill("/second.md");
  await form.getByRole("textbox", { name: /content/i }).fill("final");
  await form.getByRole("button", { name: "Approve with changes" }).click();
  await chat.answered();
  await expect(chat.last.getByRole("group", { name: "Changes in /second.md" })).toContainText(
    "+final",
  );
});

test("answered with words, the step is not done and the run goes on", async ({ page }) => {
  const chat = new Chat(page);
  await chat.begin(`${write("/never.md", "x")}\n!echo I go on.`);
  await request(chat).getByRole("button", { name: "Answer instead" }).click();
  await chat.last.getByRole("textbox", { name: "Your answer" }).fill("Use the other folder");
  await chat.last.getByRole("button", { name: "Send answer" }).click();
  await chat.answered();
  await expect(chat.last).toContainText("I go on.");
  await expect(chat.last.getByRole("group", { name: /Changes in/ })).toHaveCount(0);
});

test("approved for good, the next one is not asked, until that is taken back", async ({ page }) => {
  const chat = new Chat(page);
  await chat.begin(`${write("/a.md", "a")}\n${write("/b.md", "b")}\n!echo Both.`);
  await request(chat).getByRole("button", { name: "Always in this conversation" }).click();
  await request(chat).getByRole("button", { name: "Yes, always" }).click();
  await chat.answered();
  await expect(chat.last.getByRole("group", { name: "Changes in /b.md" })).toBeVisible();
  await chat.last.getByRole("button", { name: "Ask again before: Write a file" }).click();
  await chat.ask(write("/c.md", "c"));
  await chat.stands("The answer waits for your decision.");
  await chat.stop.click();
  await chat.stands("The answer was stopped.");
});

test("several at once are decided one by one", async ({ page }) => {
  const chat = new Chat(page);
  const calls = ["/x.md", "/y.md"].map((path) => ({
    name: "write_file",
    args: { file_path: path, content: path },
  }));
  await chat.begin(`!tools ${JSON.stringify(calls)}\n!echo Both.`);
  await expect(request(chat)).toHaveCount(2);
  const approve = () =>
    request(chat).first().getByRole("button", { name: "Approve", exact: true }).click();
  await approve();
  await expect(request(chat)).toHaveCount(1);
  await approve();
  await chat.answered();
  await expect(chat.last.getByRole("group", { name: /Changes in/ })).toHaveCount(2);
});

test("a request waits through a reload and can be decided in another tab", async ({
  page,
  context,
}) => {
  const chat = new Chat(page);
  const id = await chat.begin(`${write("/later.md", "later")}\n!echo Later.`);
  await chat.stands("The answer waits for your decision.");
  await page.reload();
  await chat.stands("The answer waits for your decision.");
  const other = new Chat(await context.newPage());
  await other.open(id);
  await request(other).getByRole("button", { name: "Approve", exact: true }).click();
  await other.answered();
  await chat.answered();
  await expect(chat.last.getByRole("button", { name: /^Approved/ })).toBeVisible();
});
