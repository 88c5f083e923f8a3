/**
 * The Streamlit demo in a browser: for `libs/dataagent-server-demo/tests/test_browser.py`, which
 * starts its processes and names their addresses. With `DATAAGENT_DEMO_PICTURES` it takes pictures.
 */

import { join } from "node:path";

import { expect, test, type Page } from "@playwright/test";

const SCRIPTED = process.env["DATAAGENT_DEMO_SCRIPTED"] ?? "";
const OFFLINE = process.env["DATAAGENT_DEMO_OFFLINE"] ?? "";
const MCP = process.env["DATAAGENT_DEMO_MCP"] ?? "";
const WRITE = [
  "!think The note goes into a file.",
  '!tool write_file {"file_path": "/note.md", "content": "# Note\\n"}',
  "!echo **Written**, for $5 or $6.",
].join("\n");

test.setTimeout(300_000);

const foreign: string[] = [];
test.beforeEach(({ page }) => {
  page.on("request", (request) => {
    const { hostname, protocol } = new URL(request.url());
    if (protocol.startsWith("http") && hostname !== "127.0.0.1") foreign.push(request.url());
  });
});
test.afterEach(() => {
  expect(foreign).toEqual([]);
});

test("an answer streams, is stopped, asks, and is there after a reload", async ({ page }) => {
  await page.goto(SCRIPTED);
  await ask(page, "!slow 3000 20");
  const answer = page.getByTestId("stChatMessage").nth(1).getByTestId("stMarkdown").first();
  await expect(answer).not.toBeEmpty();
  const early = await answer.innerText();
  await expect(answer).not.toHaveText(early);
  await shoot(page, "streaming");
  await page.getByRole("button", { name: "Stop" }).click();
  await expect(page.getByText("Stopped.")).toBeVisible();

  await ask(page, WRITE);
  await expect(page.getByText("waits for you")).toBeVisible();
  await page.getByText("Edit the call").click();
  const args = page.getByLabel("Arguments (JSON)").last();
  await args.fill('{"file_path": "/other.md", "content": "# Other\\n"}');
  await shoot(page, "approval");
  await args.press("Control+Enter");
  await page.getByRole("button", { name: "Approve with these arguments" }).click();
  await expect(page.getByText("Written, for $5 or $6.")).toBeVisible();
  await expect(page.getByText("write /other.md")).toBeVisible();
  await shoot(page, "answer");

  await page.reload();
  await expect(page.getByText("Written, for $5 or $6.")).toBeVisible();
  await expect(page.getByText("Stopped.")).toBeVisible();
  await page.getByRole("button", { name: "New conversation" }).click();
  await expect(page.getByTestId("stChatMessage")).toHaveCount(0);
});

test("a data question shows a table and a chart", async ({ page }) => {
  await page.goto(OFFLINE);
  await ask(page, "按月统计2023年的销售额，画成图");
  await expect(page.getByTestId("stDataFrame")).toBeVisible();
  const chart = page.getByTestId("stVegaLiteChart").locator("canvas, svg").first();
  await expect(chart).toBeVisible();
  await expect(page.getByPlaceholder("Ask about your data")).toBeEnabled();
  await chart.scrollIntoViewIfNeeded();
  await shoot(page, "data");
});

test("an MCP server is added, shown connected, and deleted", async ({ page }) => {
  await page.goto(SCRIPTED);
  await page.getByRole("tab", { name: "MCP servers" }).click();
  await expect(page.getByText("There is none yet.")).toBeVisible();
  await shoot(page, "mcp-empty");
  await page.getByText("streamable_http", { exact: true }).click();
  await page.getByLabel("Name").fill("calculator");
  await page.getByLabel("Address").fill(MCP);
  await page.getByRole("button", { name: "Add MCP server" }).click();
  await expect(page.getByText("calculator is added.")).toBeVisible();
  await expect(page.getByLabel("Name")).toHaveValue("");
  await page.getByRole("button", { name: "Test" }).click();
  await expect(page.getByText("calculator answers")).toBeVisible();
  await expect(page.getByText("connected", { exact: true })).toBeVisible();
  await page.locator("summary", { hasText: "3 tools" }).click();
  await expect(page.getByText("Adds two numbers.")).toBeVisible();
  await shoot(page, "mcp");
  await page.getByText("Disabled").first().click();
  await expect(page.getByText("switched off", { exact: false }).first()).toBeVisible();
  await page.getByRole("button", { name: "Delete" }).click();
  await page.getByRole("button", { name: "Delete calculator" }).click();
  await expect(page.getByText("calculator is deleted.")).toBeVisible();
  await page.getByText("Examples").click();
  await expect(page.getByText("Your own Python server")).toBeVisible();
  await shoot(page, "mcp-examples");
});

test("a server that is not there is told", async ({ page }) => {
  await page.goto(process.env["DATAAGENT_DEMO_ALONE"] ?? "");
  await expect(page.getByText("does not answer").first()).toBeVisible();
  await expect(page.getByRole("button", { name: "Try again" })).toBeVisible();
  await shoot(page, "alone");
});

async function ask(page: Page, message: string): Promise<void> {
  const input = page.getByPlaceholder("Ask about your data");
  await expect(input).toBeEnabled();
  await input.fill(message);
  await input.press("Enter");
}

async function shoot(page: Page, name: string): Promise<void> {
  const folder = process.env["DATAAGENT_DEMO_PICTURES"];
  if (folder !== undefined) await page.screenshot({ path: join(folder, `${name}.png`) });
}
