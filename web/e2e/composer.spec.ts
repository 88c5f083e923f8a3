/** What goes with a question: a skill, data that is named, files, an agent. */

import { Chat } from "./kit/chat";
import { Client } from "./kit/client";
import { expect, test } from "./kit/fixtures";
import { requirement } from "./kit/requirement";

const SKILL = requirement("S7.3e");
const AGENT = requirement("S7.3d");
const FILES = requirement("S7.3f", "S7.1b");

test("a skill is picked with /", SKILL, async ({ page }) => {
  const chat = new Chat(page);
  await chat.open();
  await chat.input.pressSequentially("/");
  const list = page.getByRole("listbox", { name: "Suggestions" });
  await expect(list.getByRole("option").first()).toBeVisible();
  const name = await list.getByRole("option").first().locator(".font-medium").textContent();
  await chat.input.press("Enter");
  await expect(list).toBeHidden();
  await expect(page.getByText(`Skill: ${name}`)).toBeVisible();
  await chat.ask("!echo with a skill");
  await chat.answered();
  await expect(chat.last.getByRole("list", { name: "Sent with the question" })).toContainText(
    `/${name}`,
  );
});

test("data is named with @, and an agent is chosen", AGENT, async ({ page }) => {
  const chat = new Chat(page);
  await chat.open();
  await chat.input.pressSequentially("!echo look at @chin");
  await page.getByRole("option", { name: /^chinook\s*Data/ }).click();
  await expect(chat.input).toHaveValue(/@chinook/);
  await page
    .getByRole("group", { name: "Who answers" })
    .getByRole("button", { name: "SQL", exact: true })
    .click();
  await chat.input.press("Enter");
  await chat.answered();
  await expect(chat.last.getByRole("list", { name: "Sent with the question" })).toContainText(
    "SQL",
  );
});

test.describe("tables", () => {
  test.use({ model: "offline", as: "new" });

  test("are named with @, by keyboard and mouse, and asked about", async ({ page }) => {
    const chat = new Chat(page);
    await chat.open();
    const list = page.getByRole("listbox", { name: "Suggestions" });
    await chat.input.pressSequentially("@chinook.inv");
    await expect(list.getByRole("option")).toHaveCount(2);
    await chat.input.press("ArrowDown");
    await expect(list.getByRole("option", { selected: true })).toContainText("InvoiceLine");
    await chat.input.press("ArrowUp");
    await chat.input.press("Enter");
    await expect(chat.input).toHaveValue("@chinook.Invoice ");
    await chat.input.fill("");
    await chat.input.pressSequentially("How many rows are in @custo");
    await list.getByRole("option", { name: /chinook.Customer/ }).click();
    await expect(chat.input).toHaveValue("How many rows are in @chinook.Customer ");
    await chat.input.press("Enter");
    await chat.answered();
    await expect(chat.last).toContainText("number of rows of Customer");
    await expect(chat.last).toContainText("@chinook.Customer");
  });

  test("that a rule hides are not offered", async ({ page, site, account }) => {
    const admin = await Client.admin(site);
    const rules = {
      subjects: { users: [account?.id] },
      tables: { Employee: { grant: false } },
    };
    const path = "/api/v1/data-sources/chinook/policies";
    const { policy_id: id } = await admin.post<{ policy_id: string }>(path, {
      name: `hidden ${account?.username ?? ""}`,
      rules,
    });
    try {
      const chat = new Chat(page);
      await chat.open();
      await chat.input.pressSequentially("@chinook.");
      await expect(page.getByRole("option", { name: /chinook.Customer/ })).toBeVisible();
      await chat.input.pressSequentially("emp");
      await expect(page.getByRole("option")).toHaveCount(0);
    } finally {
      await admin.send("DELETE", `${path}/${id}`);
    }
  });
});

test("Enter that chooses among characters does not send", async ({ page }) => {
  const chat = new Chat(page);
  await chat.open();
  const inputMethod = await page.context().newCDPSession(page);
  const compose = (text: string) =>
    inputMethod.send("Input.imeSetComposition", {
      text,
      selectionStart: text.length,
      selectionEnd: text.length,
    });
  await chat.input.pressSequentially("!echo ");
  await compose("nihao");
  await expect(chat.input).toHaveValue("!echo nihao");
  const enter = { key: "Enter", code: "Enter", windowsVirtualKeyCode: 13 };
  await inputMethod.send("Input.dispatchKeyEvent", { type: "rawKeyDown", ...enter }); // no text of its own
  await inputMethod.send("Input.dispatchKeyEvent", { type: "keyUp", ...enter });
  await expect(chat.turns).toHaveCount(0);
  await inputMethod.send("Input.insertText", { text: "你好" });
  await expect(chat.input).toHaveValue("!echo 你好");
  await expect(page).toHaveURL(/\/$/);
  await chat.input.press("Enter");
  await chat.answered();
  await expect(chat.last.getByText("你好", { exact: true })).toBeVisible();
});

test(
  "files are attached by choosing, dropping and pasting",
  { ...FILES, tag: "@first" },
  async ({ page }) => {
    const chat = new Chat(page);
    await chat.open();
    const csv = { mimeType: "text/csv", buffer: Buffer.from("a,b\n1,2\n") };
    await page.locator("main input[type=file]").setInputFiles([{ name: "chosen.csv", ...csv }]);
    await expect(page.getByRole("button", { name: "Remove chosen.csv" })).toBeVisible();
    const handle = await page.evaluateHandle(() => {
      const data = new DataTransfer();
      data.items.add(new File(["a,b\n1,2\n"], "dropped.csv", { type: "text/csv" }));
      return data;
    });
    await chat.input.dispatchEvent("drop", { dataTransfer: handle });
    await expect(page.getByRole("button", { name: "Remove dropped.csv" })).toBeVisible();
    await expect(page.getByRole("progressbar")).toHaveCount(0);
    await page.getByRole("button", { name: "Remove dropped.csv" }).click();
    await expect(page.getByRole("button", { name: "Remove dropped.csv" })).toBeHidden();
    await chat.input.evaluate((area) => {
      const clipboardData = new DataTransfer();
      clipboardData.items.add(new File(["a,b\n1,2\n"], "pasted.csv", { type: "text/csv" }));
      area.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true }));
    });
    await expect(page.getByRole("button", { name: "Remove pasted.csv" })).toBeVisible();
    await expect(page.getByRole("progressbar")).toHaveCount(0); // they are there
    await chat.ask("!echo with a file");
    await chat.answered();
    await expect(chat.last.getByRole("list", { name: "Sent with the question" })).toContainText(
      "chosen.csv",
    );
  },
);
