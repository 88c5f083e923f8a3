/** The list of conversations: found, renamed, deleted and back again; drafts of each. */

import { Chat } from "./kit/chat";
import { expect, test } from "./kit/fixtures";
import { requirement } from "./kit/requirement";

const LIST = requirement("S7.1a", "S7.3b", "S7.3c");

test.use({ as: "new" });

test(
  "renamed, searched, deleted and brought back",
  { ...LIST, tag: "@first" },
  async ({ page, client }) => {
    await client.ask("!echo about elephants");
    const { session_id: id } = await client.ask("!echo about zebras");
    await page.goto(`/chat/${id}`);
    const list = page.getByRole("navigation", { name: "Conversations" });
    await expect(list.getByRole("region", { name: "Today" }).getByRole("listitem")).toHaveCount(2);

    await list.getByRole("button", { name: "More for !echo about zebras" }).click();
    await page.getByRole("menuitem", { name: "Rename" }).click();
    await page.getByRole("textbox", { name: "Title" }).fill("Stripes");
    await page.getByRole("button", { name: "Save" }).click();
    await expect(list.getByRole("link", { name: "Stripes" })).toBeVisible();
    await expect(page.getByRole("heading", { name: "Stripes", level: 1 })).toBeVisible();

    const search = page.getByRole("searchbox", { name: "Search conversations" });
    await search.fill("elephants");
    await expect(list.getByRole("link")).toHaveCount(1);
    await search.fill("giraffes");
    await expect(list).toContainText("No conversation has this text.");
    await search.fill("");

    await list.getByRole("button", { name: "More for Stripes" }).click();
    await page.getByRole("menuitem", { name: "Delete" }).click();
    await expect(list.getByRole("link", { name: "Stripes" })).toBeHidden();
    await expect(page).toHaveURL(/\/$/);
    await page.getByRole("button", { name: "Undo" }).click();
    await list.getByRole("link", { name: "Stripes" }).click();
    await expect(new Chat(page).last).toContainText("about zebras");
  },
);

test("what was typed stays with its conversation", async ({ page, client }) => {
  const { session_id: one } = await client.ask("!echo one");
  const { session_id: two } = await client.ask("!echo two");
  const chat = new Chat(page);
  await chat.open();
  await chat.input.fill("begun anew");
  await chat.open(one);
  await chat.input.fill("draft of one");
  await chat.open(two);
  await expect(chat.input).toHaveValue("");
  await chat.open(one);
  await expect(chat.input).toHaveValue("draft of one");
  await chat.open();
  await expect(chat.input).toHaveValue("begun anew");
});
