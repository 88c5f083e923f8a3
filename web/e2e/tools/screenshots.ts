/** A picture of every page, light and dark, in English and Chinese: `npm run screenshots`. */

import { join } from "node:path";

import type { Page } from "@playwright/test";

import { expect, test } from "../kit/fixtures";
import { furnish } from "../kit/furnish";
import { McpServer } from "../kit/mcp";
import { openRich, PAGES, settle } from "../kit/pages";
import { addressVariable } from "../kit/setup";

const FOLDER = join(import.meta.dirname, "../../screenshots");
const LANGUAGES = { en: "en-US", zh: "zh-CN" } as const;
const PHONE = { width: 390, height: 844 };
const MANAGED = PAGES.filter((page) => page.startsWith("/admin") || page === "/mcp-servers");
const OTHERS = PAGES.filter((page) => !MANAGED.includes(page));
const ON_PHONE = ["/", "/data", "/data/chinook", "/settings"];
const MANAGED_ON_PHONE = ["/mcp-servers", "/admin/users", "/admin/tenants", "/admin/mcp"];
const WORK = [
  "!think The question is about countries, so I look at the invoices first.",
  '!tool write_todos {"todos": [{"content": "Find the invoices", "status": "completed"}, {"content": "Add them up by country", "status": "in_progress"}, {"content": "Write the report", "status": "pending"}]}',
  '!tool task {"description": "!echo The table Invoice has one row a sale.", "subagent_type": "general-purpose"}',
  '!tool sql_db_query {"query": "SELECT BillingCountry AS country, SUM(Total) AS total FROM Invoice GROUP BY 1 ORDER BY 2 DESC", "title": "Sales by country"}',
  "!echo The USA leads with **1,018.80**, France follows with 471.25. I write that down:",
  '!tool write_file {"file_path": "/reports/countries.md", "content": "# Sales by country\\n\\n1. USA\\n2. France\\n"}',
  "!echo Done.",
].join("\n");

test.setTimeout(300_000);

let standin: McpServer;
test.beforeAll(async () => {
  standin = await McpServer.start();
  await furnish({ url: process.env[addressVariable("scripted")] ?? "" }, standin);
});
test.afterAll(async () => standin.stop());

for (const colorScheme of ["light", "dark"] as const) {
  for (const [language, locale] of Object.entries(LANGUAGES)) {
    const shoot = (page: Page, name: string) =>
      page.screenshot({ path: join(FOLDER, `${nameOf(name)}-${language}-${colorScheme}.png`) });
    const shootAll = async (page: Page, addresses: string[], prefix = "") => {
      for (const address of addresses) {
        await page.goto(address);
        await settle(page);
        if (address.startsWith("/chat"))
          await expect(page.locator("article pre").last()).toBeVisible();
        await shoot(page, `${prefix}${nameOf(address.replace(/^.chat.*/, "chat"))}`);
      }
    };

    test.describe(`${language} ${colorScheme}`, () => {
      test.use({ locale, colorScheme });

      test.describe("pages", () => {
        test.use({ as: "admin", model: "offline" });

        test("what everybody uses", async ({ page, client }) => {
          const id = await openRich(page, client);
          await shootAll(page, OTHERS);
          await page.setViewportSize({ width: 1280, height: 1600 });
          await shootAll(page, [`/chat/${id}`]);
          await page.setViewportSize(PHONE);
          await shootAll(page, [...ON_PHONE, `/chat/${id}`], "phone-");
        });
      });

      test.describe("administration", () => {
        test.use({ as: "admin" });

        test("what is managed", async ({ page }) => {
          await shootAll(page, MANAGED);
          await page.goto("/admin/mcp");
          await page.getByRole("tab").nth(1).click();
          await settle(page);
          await shoot(page, "admin-mcp-review");
          await page.setViewportSize(PHONE);
          await shootAll(page, MANAGED_ON_PHONE, "phone-");
        });
      });

      test.describe("work", () => {
        test.use({ as: "new", viewport: { width: 1280, height: 1600 } });

        test("thinking, plan, tools, figures and an approval", async ({ page, client }) => {
          const { id } = await client.post<{ id: string }>("/api/conversations");
          const { run_id: run } = await client.ask(`\`\`\`\n${WORK}\n\`\`\``, { session_id: id });
          await page.goto(`/chat/${id}`);
          const article = page.getByRole("article");
          await expect(article.getByRole("region").last()).toBeVisible();
          await page.waitForLoadState("networkidle");
          await shoot(page, "approval");
          const { pending } = await client.get<{ pending: { request_id: string }[] }>(
            `/api/v1/runs/${run}`,
          );
          const decision = { type: "approve" };
          const request = pending[0]?.request_id ?? "";
          const looked = page.waitForResponse(/history/); // who decided is asked for
          await client.send("POST", `/api/v1/runs/${run}/decisions/${request}`, decision);
          await expect(article.getByRole("group").last()).toBeVisible();
          await looked;
          await settle(page);
          await shoot(page, "answer");
        });
      });

      test.describe("outside", () => {
        test.use({ as: "nobody" });

        test("the login page", async ({ page }) => {
          await page.goto("/login");
          await settle(page);
          await shoot(page, "sign-in");
        });
      });
    });
  }
}

function nameOf(address: string): string {
  return address.replaceAll("/", " ").trim().replaceAll(" ", "-") || "home";
}
