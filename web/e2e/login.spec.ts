/** Coming in: by form, by the one-time link, and again when the login has ended. */

import { Chat } from "./kit/chat";
import { cookiesOf, expect, test } from "./kit/fixtures";
import { ADMIN } from "./kit/server";
import { requirement } from "./kit/requirement";

const FORM = requirement("S7.1a", "S7.3a", "S7.4a");
const OUT = requirement("S7.3a", "S7.4a");

test.describe("nobody is logged in", () => {
  test.use({ as: "nobody" });

  test(
    "the form says what is wrong, then leads where one wanted to go",
    { ...FORM, tag: "@first" },
    async ({ page }) => {
      await page.goto("/data");
      await expect(page).toHaveURL(/\/login\?next=%2Fdata$/);
      await page.getByLabel("User name").fill(ADMIN.username);
      await page.getByLabel("Password").fill("not the password");
      await page.getByRole("button", { name: "Sign in" }).click();
      await expect(page.getByText("User name or password is wrong.")).toBeVisible();
      await expect(page.getByLabel("User name")).toHaveValue(ADMIN.username);
      await page.getByLabel("Password").fill(ADMIN.password);
      await page.getByLabel("Password").press("Enter");
      await expect(page.getByRole("heading", { name: "Data", level: 1 })).toBeVisible();
      await expect(page).toHaveURL(/\/data$/);
    },
  );

  test("an address of another site is no place to go on to", async ({ page, site }) => {
    await page.goto("/login?next=https://example.com/");
    await page.getByLabel("User name").fill(ADMIN.username);
    await page.getByLabel("Password").fill(ADMIN.password);
    await page.getByRole("button", { name: "Sign in" }).click();
    await expect(page.getByRole("textbox", { name: "Your question" })).toBeVisible();
    expect(page.url()).toBe(`${site.url}/`);
  });
});

test("one can sign out, and is out", OUT, async ({ page, people, site, context }) => {
  await context.clearCookies();
  const { client } = await people.login(site.url, "new");
  await context.addCookies(cookiesOf(client));
  const { username } = await client.get<{ username: string }>("/api/auth/me");
  await page.goto("/");
  await page.getByRole("button", { name: username }).click();
  await page.getByRole("menuitem", { name: "Sign out" }).click();
  await expect(page).toHaveURL(/\/login/);
  await page.goto("/data");
  await expect(page).toHaveURL(/\/login/);
});

test.describe("the login ends in the middle of work", () => {
  test.use({ as: "new" });

  test("what was typed is kept, and sent after signing in again", async ({
    page,
    context,
    account,
  }) => {
    const chat = new Chat(page);
    await chat.begin("!echo first");
    await chat.answered();
    await chat.input.fill("!echo still here");
    await context.clearCookies();
    await page.getByRole("link", { name: "Data", exact: true }).hover();
    await page.evaluate(() => fetch("/api/auth/me"));
    await page.getByRole("searchbox", { name: "Search conversations" }).fill("something");
    const dialog = page.getByRole("dialog", { name: "Your sign-in has ended" });
    await expect(dialog).toBeVisible();
    await dialog.getByLabel("User name").fill(account?.username ?? "");
    await dialog.getByLabel("Password").fill(account?.password ?? "");
    await dialog.getByRole("button", { name: "Sign in" }).click();
    await expect(dialog).toBeHidden();
    await expect(chat.input).toHaveValue("!echo still here");
    await chat.input.press("Enter");
    await expect(chat.turns).toHaveCount(2);
    await chat.answered();
  });
});
