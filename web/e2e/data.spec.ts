/** The data page: what there is to ask about, and one's own files beside it. */

import { Chat } from "./kit/chat";
import { expect, test } from "./kit/fixtures";

test.use({ model: "offline", as: "new" });

test("sources, tables, columns, rows and a search over them", async ({ page }) => {
  await page.goto("/data");
  await page
    .getByRole("list", { name: "Data sources" })
    .getByRole("link", { name: /chinook/ })
    .click();
  await expect(page.getByRole("heading", { name: "chinook", level: 1 })).toBeVisible();
  await page
    .getByRole("link", { name: /^Invoice\b/ })
    .first()
    .click();
  await expect(page.getByText("BillingCountry").first()).toBeVisible();
  await page.getByRole("tab", { name: "First rows" }).click();
  await expect(page.getByRole("region", { name: "First rows of Invoice" })).toBeVisible();

  await page.goto("/data");
  await page.getByRole("searchbox", { name: "Search tables and columns" }).fill("BillingCountry");
  await expect(page.getByText("Invoice").first()).toBeVisible();
});

test("a spreadsheet is uploaded, asked about, and deleted", { tag: "@first" }, async ({ page }) => {
  await page.goto("/data");
  await page.getByRole("button", { name: "Upload files" }).click();
  const dialog = page.getByRole("dialog", { name: "Upload files" });
  await dialog.locator("input[type=file]").setInputFiles([
    {
      name: "moods.csv",
      mimeType: "text/csv",
      buffer: Buffer.from("mood,amount\n😀 happy,1234.5\n😀 happy,10\n😢 sad,77.25\n"),
    },
  ]);
  await dialog.getByRole("textbox", { name: "Name" }).fill("moods");
  await dialog.getByRole("button", { name: "Upload", exact: true }).click();
  const done = page.getByRole("dialog", { name: "Ready" });
  await expect(done).toContainText("3 rows");
  await done.getByRole("button", { name: "Ask about it" }).click();
  const chat = new Chat(page);
  await expect(chat.input).toHaveValue("@moods ");
  await chat.input.press("End");
  await chat.input.pressSequentially("total amount by mood");
  await chat.input.press("Enter");
  await chat.answered();
  await expect(chat.last).toContainText("1244.5");

  await page.goto("/data");
  await page.getByRole("main").getByRole("link", { name: /moods/ }).click();
  await page.getByRole("button", { name: "Delete" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await expect(page).toHaveURL(/\/data$/);
  await expect(page.getByRole("main").getByRole("link", { name: /moods/ })).toBeHidden();
});

test("a file that cannot be a table is refused before it is sent", async ({ page }) => {
  await page.goto("/data");
  await page.getByRole("button", { name: "Upload files" }).click();
  const dialog = page.getByRole("dialog", { name: "Upload files" });
  await dialog
    .locator("input[type=file]")
    .setInputFiles([{ name: "song.mp3", mimeType: "audio/mpeg", buffer: Buffer.from("x") }]);
  await expect(dialog).toContainText("This kind of file cannot be a table.");
  await expect(dialog.getByRole("button", { name: "Upload", exact: true })).toBeDisabled();
});
