/**
 * The administration of what agents can use: shared MCP servers, permissions, skills, data rules.
 */

import { addUser } from "./kit/client";
import { expect, test } from "./kit/fixtures";
import { McpServer } from "./kit/mcp";

test.use({ as: "admin" });

const unique = (name: string) => `${name}-${Date.now().toString(36).slice(-6)}`;

test(
  "a shared server is registered, its tool permitted, called, logged, and deleted",
  { tag: "@first" },
  async ({ page, client }) => {
    const standin = await McpServer.start();
    const name = unique("calc");
    try {
      await page.goto("/admin/mcp");
      await page.getByRole("button", { name: "Register server" }).click();
      const dialog = page.getByRole("dialog", { name: "Register a shared server" });
      await dialog.getByLabel("Name", { exact: true }).fill(name);
      await dialog.getByRole("textbox", { name: "Address" }).fill(standin.url);
      await dialog.getByRole("button", { name: "Register and test" }).click();
      const details = page.getByRole("dialog", { name });
      await expect(details).toContainText("It works");
      const isSafe = details.getByRole("checkbox", { name: "add is safe to repeat" });
      await isSafe.click();
      await expect(isSafe).toBeChecked(); // once the server has it
      await details
        .getByRole("button", { name: /Review/ })
        .first()
        .click();
      await page.getByRole("button", { name: "Approve this definition" }).click();
      await details.getByRole("button", { name: "Close" }).first().click();
      await expect(page.getByRole("row").filter({ hasText: name })).toContainText("Connected");

      await page.goto("/admin/allowlists");
      await page.getByLabel("Agent", { exact: true }).selectOption("general");
      const tool = page.getByRole("checkbox", { name: /add/ }).first();
      await tool.check();
      await page.getByRole("button", { name: "Save" }).click();
      await expect(page.getByText("The list was saved.").first()).toBeVisible();

      const { events } = await client.ask(`!tool ${name}__add {"a": 20, "b": 22}`, {
        assistant_id: "general",
      });
      expect(JSON.stringify(events)).toContain("42");
      const call = page.getByRole("row").filter({ hasText: name });
      await expect(async () => {
        await page.goto("/admin/mcp-calls"); // the record is written soon after the call
        await expect(call.first()).toContainText("OK", { timeout: 5_000 });
      }).toPass();
    } finally {
      await page.goto("/admin/mcp");
      await page.getByRole("button", { name: `More for ${name}` }).click();
      await page.getByRole("menuitem", { name: "Delete" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
      await expect(page.getByRole("row").filter({ hasText: name })).toBeHidden();
      await standin.stop();
    }
  },
);

test("a skill is written, changed with all it had, and deleted", async ({ page, client }) => {
  const name = unique("report");
  const header = `name: ${name}\ndescription: How it is made\nlicense: ours\nmetadata:\n  team: data`;
  await page.goto("/admin/skills");
  await page.getByRole("button", { name: "New skill of my own" }).click();
  const adding = page.getByRole("dialog", { name: "New skill" });
  await adding.getByLabel("SKILL.md").fill("no front matter");
  await adding.getByRole("button", { name: "Save" }).click();
  await expect(adding.getByRole("alert")).toBeVisible();
  await adding.getByLabel("SKILL.md").fill(`---\n${header}\n---\n# First\n`);
  await adding.getByRole("button", { name: "Save" }).click();
  await expect(page.getByText(`/${name}`, { exact: true })).toBeVisible();

  await page.getByRole("button", { name: `Edit ${name}` }).click();
  const text = page.getByRole("dialog", { name: `Edit “${name}”` }).getByLabel("SKILL.md");
  await expect(text).toHaveValue(`---\n${header}\n---\n# First\n`);
  await text.fill(`---\n${header}\n---\n# Second\n`);
  await page.getByRole("button", { name: "Save" }).click();
  await expect
    .poll(async () => (await client.get<{ text: string }>(`/api/skills/${name}`)).text)
    .toBe(`---\n${header}\n---\n# Second\n`);

  await page.getByRole("button", { name: `Delete ${name}` }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await expect(page.getByText(`/${name}`, { exact: true })).toBeHidden();
});

test("a rule for data is written, refused while it is wrong, and holds", async ({ page, site }) => {
  const { username, id } = await addUser(site, unique("rita").replace("-", "_"));
  const name = unique("no-employees");
  const rules = (table: string) =>
    JSON.stringify({ subjects: { users: [id] }, tables: { [table]: { grant: false } } });
  await page.goto("/admin/sources");
  await page.getByRole("button", { name: "Open chinook" }).click();
  await page.getByRole("tab", { name: "Rules" }).click();
  await page.getByRole("button", { name: "Add policy" }).click();
  const dialog = page.getByRole("dialog", { name: "Add policy" });
  await dialog.getByLabel("Name", { exact: true }).fill(name);
  await dialog.getByLabel("Rules (JSON)").fill(rules("NoSuchTable"));
  await dialog.getByRole("button", { name: "Check and save" }).click();
  await expect(dialog.getByRole("alert")).toContainText("NoSuchTable");
  await dialog.getByLabel("Rules (JSON)").fill(rules("Employee"));
  await dialog.getByRole("button", { name: "Check and save" }).click();
  await expect(dialog).toBeHidden();

  await page.getByRole("tab", { name: "View as a user" }).click();
  await page.getByLabel("As which user").selectOption({ label: username });
  await expect(page.getByText(`${username} sees 10 tables`)).toBeVisible();
  await page.getByRole("tab", { name: "Rules" }).click();
  await page.getByRole("button", { name: `Delete ${name}` }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await expect(page.getByText(name)).toHaveCount(0);
});
