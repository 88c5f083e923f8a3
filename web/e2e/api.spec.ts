/** The page of the API: there without a login and without anything from elsewhere. */

import { expect, test } from "./kit/fixtures";

test.use({ as: "nobody" });

test(
  "the API can be read and tried in a closed network",
  { tag: "@first" },
  async ({ page, baseURL }) => {
    const elsewhere: string[] = [];
    page.on("request", (request) => {
      if (!request.url().startsWith(baseURL ?? "http:") && !request.url().startsWith("data:")) {
        elsewhere.push(request.url());
      }
    });
    const refused: string[] = [];
    page.on("console", (message) => {
      if (message.text().includes("Content Security Policy")) refused.push(message.text());
    });
    await page.goto("/docs");
    await expect(page.getByRole("heading", { name: /^DataAgent/ })).toBeVisible();
    await page.getByRole("button", { name: /GET \/api\/v1\/health$/i }).click();
    await page.getByRole("button", { name: "Try it out" }).click();
    await page.getByRole("button", { name: "Execute" }).click();
    await expect(page.getByText('"status": "ok"').first()).toBeVisible();
    expect(elsewhere).toEqual([]);
    expect(refused).toEqual([]);
  },
);
