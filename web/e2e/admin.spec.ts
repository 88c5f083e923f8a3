/** The administration: users, agents, data and its rules, tenants, usage, audit, health. */

import { readFile } from "node:fs/promises";

import type { Page } from "@playwright/test";

import { addUser, Client } from "./kit/client";
import { expect, test } from "./kit/fixtures";
import { requirement } from "./kit/requirement";

const USERS = requirement("S7.1c", "S7.3h");
const NOT_THEIRS = requirement("S7.4b", "S7.3h");
const AGENTS = requirement("S8.1", "S7.3d");

const unique = (name: string) => `${name}_${Date.now().toString(36).slice(-6)}`;

async function act(page: Page, name: string, action: string): Promise<void> {
  await page.getByRole("button", { name: `Actions for ${name}` }).click();
  await page.getByRole("menuitem", { name: action, exact: true }).click();
}

test.describe("as an administrator", () => {
  test.use({ as: "admin" });

  test(
    "a user is added, gets in, is disabled, and is deleted",
    { ...USERS, tag: "@first" },
    async ({ page, site }) => {
      const name = unique("dora");
      await page.goto("/admin/users");
      await page.getByRole("button", { name: "Add user" }).click();
      const dialog = page.getByRole("dialog", { name: "Add user" });
      await dialog.getByLabel("User name").fill(name);
      await dialog.getByRole("button", { name: "Add user" }).click();
      const added = page.getByRole("dialog", { name: `${name} is added` });
      const password = await added.locator("code").textContent();
      await added.getByRole("button", { name: "Close" }).last().click();
      const login = { username: name, password: password ?? "" };
      expect((await Client.login(site, login)).cookie).not.toBe("");

      await page.getByRole("searchbox", { name: "Search by name" }).fill(name);
      const row = page.getByRole("row").filter({ hasText: name });
      await expect(row).toContainText("Active");
      await act(page, name, "Disable");
      await page.getByRole("dialog").getByRole("button", { name: "Disable" }).click();
      await expect(row).toContainText("Disabled");
      await expect(Client.login(site, login)).rejects.toThrow();

      await act(page, name, "Delete user");
      const sure = page.getByRole("dialog", { name: `Delete ${name}?` });
      await expect(sure.getByRole("button", { name: "Delete user" })).toBeDisabled();
      await sure.getByRole("textbox").fill(name);
      await sure.getByRole("button", { name: "Delete user" }).click();
      await expect(row).toBeHidden();
    },
  );

  test("an API key is shown once and works until it is revoked", async ({ page, site }) => {
    const { username: name } = await addUser(site, unique("kim"));
    await page.goto("/admin/users");
    await page.getByRole("searchbox", { name: "Search by name" }).fill(name);
    await act(page, name, "API keys");
    const dialog = page.getByRole("dialog", { name: `API keys of ${name}` });
    await dialog.getByLabel("What for").fill("nightly");
    await dialog.getByRole("button", { name: "Make a key" }).click();
    const key = (await dialog.locator("code[aria-label]").textContent()) ?? "";
    const ask = () => fetch(`${site.url}/api/v1/sessions`, { headers: { "X-API-Key": key } });
    expect((await ask()).status).toBe(200);
    await dialog.getByRole("button", { name: "Revoke nightly" }).click();
    await page.getByRole("dialog").last().getByRole("button", { name: "Revoke" }).last().click();
    await expect.poll(async () => (await ask()).status).toBe(401);
  });

  test(
    "an agent is made with tools, chosen in the chat, and deleted",
    { ...AGENTS, tag: "@first" },
    async ({ page }) => {
      const name = unique("helper").replaceAll("_", "-");
      await page.goto("/admin/agents");
      await page.getByRole("button", { name: "New agent" }).click();
      const dialog = page.getByRole("dialog", { name: "New agent" });
      await dialog.getByLabel("Name", { exact: true }).fill(name);
      await dialog.getByLabel("Description").fill("Helps with everything");
      await dialog.getByRole("button", { name: /^(Save|Add)$/ }).click();
      await expect(page.getByRole("row").filter({ hasText: name })).toBeVisible();
      await page.goto("/");
      await expect(
        page.getByRole("group", { name: "Who answers" }).getByRole("button", { name }),
      ).toBeVisible();
      await page.goto("/admin/agents");
      await page.getByRole("button", { name: `More for ${name}` }).click();
      await page.getByRole("menuitem", { name: "Delete" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
      await expect(page.getByRole("row").filter({ hasText: name })).toBeHidden();
    },
  );

  test(
    "a rule hides a table, and viewing as the user shows it",
    { tag: "@first" },
    async ({ page, site, client }) => {
      const { username: name } = await addUser(site, unique("vera"));
      const { items } = await client.get<{ items: { source_id: string; name: string }[] }>(
        "/api/v1/data-sources",
      );
      const id = items.find((source) => source.name === "chinook")?.source_id ?? "";
      const policy = await client.post<{ policy_id: string }>(
        `/api/v1/data-sources/${id}/policies`,
        {
          name: unique("no employees"),
          rules: {
            subjects: { users: [(await whoIs(client, name)).id] },
            tables: { Employee: { grant: false } },
          },
        },
      );
      try {
        await page.goto("/admin/sources");
        await page.getByRole("button", { name: "Open chinook" }).click();
        await page.getByRole("tab", { name: "View as a user" }).click();
        await page.getByLabel("As which user").selectOption({ label: name });
        await expect(page.getByText(`${name} sees 10 tables`)).toBeVisible();
        await page.getByRole("textbox", { name: "SQL" }).fill("SELECT * FROM Employee");
        await page.getByRole("button", { name: "Check", exact: true }).click();
        await expect(page.getByText("May not run")).toBeVisible();
      } finally {
        await client.send("DELETE", `/api/v1/data-sources/${id}/policies/${policy.policy_id}`);
      }
    },
  );

  test("a tenant is made with limits and a member, and deleted", async ({ page, site }) => {
    const { username: member } = await addUser(site, unique("tina"));
    const name = unique("Acme");
    await page.goto("/admin/tenants");
    await page.getByRole("button", { name: "Add tenant" }).click();
    const dialog = page.getByRole("dialog", { name: "Add tenant" });
    await dialog.getByLabel("Name", { exact: true }).fill(name);
    await dialog.getByLabel("Users", { exact: true }).fill("3");
    await dialog.getByRole("button", { name: "Add tenant" }).click();
    const row = page.getByRole("row").filter({ hasText: name });
    await expect(row).toContainText("3");
    await act(page, name, "Members");
    const members = page.getByRole("dialog", { name: `Members of ${name}` });
    await members.getByLabel("Take in a user").selectOption({ label: member });
    await members.getByRole("button", { name: "Take in", exact: true }).click();
    await expect(members.getByRole("row").filter({ hasText: member })).toBeVisible();
    await page.keyboard.press("Escape");
    await act(page, name, "Delete tenant");
    const sure = page.getByRole("dialog", { name: `Delete ${name}?` });
    await sure.getByRole("textbox").fill(name);
    await sure.getByRole("button", { name: "Delete tenant" }).click();
    await expect(row).toBeHidden();
  });

  test("usage is drawn with its cost, and stands in a table", async ({ page, client }) => {
    await client.ask("!echo something that costs");
    await page.goto("/admin/usage");
    await expect(page.getByRole("img", { name: /by day from/ })).toBeVisible();
    await expect(page.getByText("Cost").first()).toBeVisible();
    await expect(page.getByText("admin").first()).toBeVisible();
  });

  test("the audit log is filtered and verified", async ({ page }) => {
    await page.goto("/admin/audit");
    await expect(page.getByRole("row").nth(1)).toBeVisible();
    await page.getByRole("button", { name: "Verify" }).click();
    await expect(page.getByText(/The log is whole: [\d,]+ rows were checked/)).toBeVisible();
    await page
      .getByRole("button", { name: /Details of row/ })
      .first()
      .click();
    await expect(page.getByRole("dialog")).toContainText("Hash of the row before");
  });

  test("the audit log is saved as a file, as it is filtered", async ({ page, client }) => {
    await client.send("PUT", "/api/v1/users/somebody/attributes", { attributes: { region: "n" } });
    await page.goto("/admin/audit");
    await page.getByLabel("Action", { exact: true }).fill("set_user_attributes");
    await expect(page.getByRole("row").nth(1)).toContainText("set_user_attributes");
    const saveAs = async (format: string) => {
      await page.getByRole("button", { name: "Export" }).click();
      const saving = page.waitForEvent("download");
      await page.getByRole("menuitem", { name: format }).click();
      const file = await saving;
      return { name: file.suggestedFilename(), text: await readFile(await file.path(), "utf8") };
    };
    const { total } = await client.get<{ total: number }>(
      "/api/v1/audit?action=set_user_attributes",
    );
    const csv = await saveAs("CSV");
    expect(csv.name).toBe("audit.csv");
    expect(csv.text.trimEnd().split("\r\n")).toHaveLength(1 + total);
    const lines = await saveAs("JSON lines");
    expect(lines.name).toBe("audit.jsonl");
    const rows = lines.text.trimEnd().split("\n");
    expect(rows).toHaveLength(total);
    expect(JSON.parse(rows[0] ?? "")).toMatchObject({ action: "set_user_attributes" });
  });

  test("health says that everything works", async ({ page }) => {
    await page.goto("/admin/health");
    await expect(page.getByRole("heading", { name: "The server works" })).toBeVisible();
    await expect(page.getByText("Database tables: works")).toBeVisible();
  });
});

async function whoIs(client: Client, username: string): Promise<{ id: string }> {
  const { items } = await client.get<{ items: { id: string; username: string }[] }>(
    `/api/users?search=${username}`,
  );
  const found = items.find((user) => user.username === username);
  if (found === undefined) throw new Error(`no user ${username}`);
  return found;
}

test("who is no administrator is told so, and nothing is loaded", NOT_THEIRS, async ({ page }) => {
  const asked: string[] = [];
  page.on("request", (request) => asked.push(new URL(request.url()).pathname));
  await page.goto("/admin/users");
  await expect(page.getByText("No permission")).toBeVisible();
  await expect(page.getByRole("link", { name: "Administration" })).toHaveCount(0);
  expect(asked.filter((path) => path === "/api/users")).toEqual([]);
});
