/** The user's MCP servers: added, tested, switched off, deleted; secrets never come back. */

import { Chat } from "./kit/chat";
import { expect, test } from "./kit/fixtures";
import { McpServer } from "./kit/mcp";

let standin: McpServer;

test.beforeAll(async () => {
  standin = await McpServer.start();
});
test.afterAll(async () => standin.stop());
test.use({ as: "new" });

test(
  "a server is added, tested, used, switched off and deleted",
  { tag: "@first" },
  async ({ page }) => {
    await page.goto("/mcp-servers");
    await expect(page.getByText("You have no MCP servers yet")).toBeVisible();
    await page.getByRole("button", { name: "Add server" }).first().click();
    const dialog = page.getByRole("dialog", { name: "Add an MCP server" });
    await dialog.getByRole("button", { name: "Add and test" }).click();
    await expect(dialog).toContainText("Fill this in.");
    await dialog.getByLabel("Name", { exact: true }).fill("sums");
    await dialog.getByRole("textbox", { name: "Address" }).fill(standin.url);
    await dialog.getByRole("button", { name: "Add header" }).click();
    await dialog.getByLabel("Header", { exact: true }).fill("Authorization");
    await dialog.getByLabel(/^Value/).fill("Bearer top-secret-word");
    await dialog.getByRole("button", { name: "Add and test" }).click();

    const own = page.getByRole("list", { name: "Your servers" });
    const card = own.getByRole("listitem").filter({ hasText: "sums" });
    await expect(card).toContainText("It works");
    await expect(card).toContainText("Connected");
    await card.getByRole("button", { name: /tools: sums/ }).click();
    await expect(page.getByRole("list", { name: "Tools of sums" })).toContainText("add");
    const confirm = page.getByRole("button", { name: "Confirm that add only reads" });
    await confirm.click();
    await expect(confirm).toHaveCount(0);

    await card.getByRole("button", { name: "Edit sums" }).click();
    const editing = page.getByRole("dialog", { name: "Edit “sums”" });
    await expect(editing).toContainText("Authorization");
    expect(await page.content()).not.toContain("top-secret-word");
    await editing.getByRole("button", { name: "Cancel" }).click();

    const chat = new Chat(page);
    await chat.begin('!tool sums__add {"a": 20, "b": 22}');
    await expect(chat.last).toContainText(/sums/);
    await chat.answered();
    await chat.last.getByRole("button", { name: /^Done .*add/i }).click();
    await expect(chat.last).toContainText("42");

    await page.goto("/mcp-servers");
    await page.getByRole("button", { name: "More for sums" }).click();
    await page.getByRole("menuitem", { name: "Switch off" }).click();
    await expect(card).toContainText("Off");
    await page.getByRole("button", { name: "More for sums" }).click();
    await page.getByRole("menuitem", { name: "Delete" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await expect(page.getByText("You have no MCP servers yet")).toBeVisible();
  },
);

test("a server that does not answer says why; a program is refused kindly", async ({ page }) => {
  await page.goto("/mcp-servers");
  await page.getByRole("button", { name: "Add server" }).first().click();
  const dialog = page.getByRole("dialog", { name: "Add an MCP server" });
  await dialog.getByLabel("Name", { exact: true }).fill("dead");
  await dialog.getByRole("textbox", { name: "Address" }).fill("http://127.0.0.1:9/mcp");
  await dialog.getByRole("button", { name: "Add and test" }).click();
  const card = page.getByRole("listitem").filter({ hasText: "dead" });
  await expect(card.getByRole("alert")).toContainText("It did not work");

  await page.getByRole("button", { name: "Add server" }).first().click();
  await dialog.getByLabel("Name", { exact: true }).fill("program");
  await dialog.getByText("Program", { exact: true }).click();
  await dialog.getByRole("textbox", { name: "Command line" }).fill("npx -c whoami");
  await dialog.getByRole("button", { name: "Add and test" }).click();
  await expect(dialog).toContainText("This is not allowed here");
  await expect(dialog.getByRole("textbox", { name: "Command line" })).toHaveValue("npx -c whoami");
});

test("the form fills in examples", async ({ page }) => {
  await page.goto("/mcp-servers");
  await page.getByRole("button", { name: "Add server" }).first().click();
  const dialog = page.getByRole("dialog", { name: "Add an MCP server" });
  await expect(dialog).toContainText("Fill in an example");
  await dialog.getByRole("button", { name: "Streamable HTTP" }).click();
  await expect(dialog.getByRole("textbox", { name: "Address" })).toHaveValue(/^https:\/\/.+/);
});

test("without the MCP API the page says so kindly", async ({ page }) => {
  // No setting takes the routes away, so the answer of a server without them is put in their place.
  await page.route("**/api/v1/users/*/mcp-servers?*", (route) =>
    route.fulfill({ status: 404, json: { error_code: "not_found", message: "Not Found" } }),
  );
  await page.goto("/mcp-servers");
  await expect(page.getByText("MCP servers are not available here")).toBeVisible();
  await expect(page.getByText("The chat works without")).toBeVisible();
});
