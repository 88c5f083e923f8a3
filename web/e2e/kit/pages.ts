/** All pages, and a conversation that has every kind of part. */

import { expect, type Page } from "@playwright/test";

import type { Client } from "./client";

export const PAGES = [
  "/",
  "/data",
  "/data/chinook",
  "/mcp-servers",
  "/settings",
  "/admin/users",
  "/admin/tenants",
  "/admin/sources",
  "/admin/agents",
  "/admin/skills",
  "/admin/mcp",
  "/admin/allowlists",
  "/admin/mcp-calls",
  "/admin/usage",
  "/admin/audit",
  "/admin/health",
  "/admin/nowhere",
  "/nowhere",
];

/** Wait until a page shows what it has: no request under way, nothing said to be loading. */
export async function settle(page: Page): Promise<void> {
  await page.waitForLoadState("networkidle");
  await expect(page.locator("[aria-busy=true], [role=progressbar]")).toHaveCount(0);
}

const QUESTIONS = [
  "Which five countries have the most customers?",
  "Show total sales by year as a bar chart",
  "How many tracks are there?",
];

/** Open a conversation with tables, a chart and figures, answered by the offline model. */
export async function openRich(page: Page, client: Client): Promise<string> {
  let session: string | undefined;
  for (const question of QUESTIONS) {
    const more = session === undefined ? {} : { session_id: session };
    session = (await client.ask(question, more)).session_id;
  }
  await page.goto(`/chat/${session ?? ""}`);
  await expect(page.getByRole("article").last()).toBeVisible();
  await settle(page);
  return session ?? "";
}
