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
  await page.getByRole("button", { name: "停止" }).click();
  await expect(page.getByText("已停止。")).toBeVisible();

  await ask(page, WRITE);
  await expect(page.getByText("等待您的决定")).toBeVisible();
  await page.getByText("修改参数").click();
  const args = page.getByLabel("参数 (JSON)").last();
  await args.fill('{"file_path": "/other.md", "content": "# Other\\n"}');
  await shoot(page, "approval");
  await args.press("Control+Enter");
  await page.getByRole("button", { name: "按修改批准" }).click();
  await expect(page.getByText("Written, for $5 or $6.")).toBeVisible();
  await expect(page.getByText("写入 /other.md")).toBeVisible();
  await shoot(page, "answer");

  await page.reload();
  await expect(page.getByText("Written, for $5 or $6.")).toBeVisible();
  await expect(page.getByText("已停止。")).toBeVisible();
  await page.getByRole("button", { name: "新对话" }).click();
  await expect(page.getByTestId("stChatMessage")).toHaveCount(0);
});

test("a data question shows a table and a chart", async ({ page }) => {
  await page.goto(OFFLINE);
  await ask(page, "按月统计2023年的销售额，画成图");
  await expect(page.getByTestId("stDataFrame")).toBeVisible();
  const chart = page.getByTestId("stVegaLiteChart").locator("canvas, svg").first();
  await expect(chart).toBeVisible();
  await expect(page.getByPlaceholder("就您的数据提问")).toBeEnabled();
  await chart.scrollIntoViewIfNeeded();
  await shoot(page, "data");
});

test("an MCP server is added, shown connected, and deleted", async ({ page }) => {
  await page.goto(SCRIPTED);
  await page.getByRole("tab", { name: "🔌 MCP 配置" }).click();
  await expect(page.getByText("还没有 MCP Server")).toBeVisible();
  await shoot(page, "mcp-empty");
  await page.getByText("streamable_http", { exact: true }).click();
  await page.getByLabel("名称").fill("calculator");
  await page.getByLabel("地址").fill(MCP);
  await page.getByRole("button", { name: "添加 MCP Server" }).click();
  await expect(page.getByText("calculator 已添加")).toBeVisible();
  await expect(page.getByLabel("名称")).toHaveValue("");
  await page.getByRole("button", { name: "测试" }).click();
  await expect(page.getByText("calculator 有响应")).toBeVisible();
  await expect(page.getByText("🔧 calculator 🟢 connected")).toBeVisible();
  await page.locator("summary", { hasText: "3 个工具" }).click();
  await expect(page.getByText("Adds two numbers.")).toBeVisible();
  await shoot(page, "mcp");
  await page.getByText("禁用", { exact: true }).first().click();
  await expect(page.getByText("calculator 已禁用。").first()).toBeVisible();
  await page.getByRole("button", { name: "删除" }).click();
  await page.getByRole("button", { name: "删除 calculator" }).click();
  await expect(page.getByText("calculator 已删除。")).toBeVisible();
  await page.getByText("📖 配置示例").click();
  await expect(page.getByText("自定义 Python MCP Server")).toBeVisible();
  await shoot(page, "mcp-examples");
});

test("a server that is not there is told", async ({ page }) => {
  await page.goto(process.env["DATAAGENT_DEMO_ALONE"] ?? "");
  await expect(page.getByText("没有响应").first()).toBeVisible();
  await expect(page.getByRole("button", { name: "重试" })).toBeVisible();
  await shoot(page, "alone");
});

async function ask(page: Page, message: string): Promise<void> {
  const input = page.getByPlaceholder("就您的数据提问");
  await expect(input).toBeEnabled();
  await input.fill(message);
  await input.press("Enter");
}

async function shoot(page: Page, name: string): Promise<void> {
  const folder = process.env["DATAAGENT_DEMO_PICTURES"];
  if (folder !== undefined) await page.screenshot({ path: join(folder, `${name}.png`) });
}
