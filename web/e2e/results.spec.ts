/** Tables, charts and figures of an answer, made by the offline model on the sample data. */

import { readFile } from "node:fs/promises";

import type { Download, Page } from "@playwright/test";

import { Chat } from "./kit/chat";
import { expect, test } from "./kit/fixtures";

test.use({ model: "offline", viewport: { width: 1280, height: 1600 } }); // nothing scrolls away

async function saved(page: Page, format: string): Promise<Download> {
  const download = page.waitForEvent("download");
  await page.getByRole("menuitem", { name: format, exact: true }).click();
  return download;
}

test(
  "a question gives a table with its SQL, which can be sorted and saved",
  { tag: "@first" },
  async ({ page }) => {
    const chat = new Chat(page);
    await chat.begin("Total sales by country");
    await chat.answered();
    const card = chat.last
      .getByRole("region")
      .filter({ has: page.getByRole("button", { name: "Download" }) })
      .first();
    await expect(card.getByRole("table")).toContainText("USA");

    await card.getByRole("button", { name: "SQL and source" }).click();
    await expect(card).toContainText("chinook");
    await expect(card).toContainText("GROUP BY");

    await card.getByRole("button", { name: "Open", exact: true }).click();
    const grid = page.getByRole("dialog").getByRole("grid");
    await expect(grid).toHaveAttribute("aria-rowcount", "25");
    const first = grid.getByRole("gridcell").first();
    await grid.getByRole("columnheader").first().click();
    await expect(first).toHaveText("Argentina");
    await grid.getByRole("columnheader").first().click();
    await expect(first).toHaveText("United Kingdom");
    await page.keyboard.press("Escape");

    await card.getByRole("button", { name: "Download" }).click();
    const csv = await readFile(await (await saved(page, "CSV")).path(), "utf8");
    expect(csv.trim().split("\n")).toHaveLength(25);
    await card.getByRole("button", { name: "Download" }).click();
    const xlsx = await readFile(await (await saved(page, "Excel (XLSX)")).path());
    expect(xlsx.subarray(0, 2).toString()).toBe("PK");
    await card.getByRole("button", { name: "Download" }).click();
    const parquet = await readFile(await (await saved(page, "Parquet")).path());
    expect(parquet.subarray(0, 4).toString()).toBe("PAR1");
  },
);

test.describe("a table of thousands of rows", () => {
  test.use({ model: "scripted" });

  test("is paged through to its end", async ({ page }) => {
    const chat = new Chat(page);
    await chat.begin(
      '!tool sql_db_query {"query": "SELECT TrackId, Name FROM Track ORDER BY TrackId", "title": "All tracks"}',
    );
    await chat.answered();
    await chat.last.getByRole("button", { name: "Open", exact: true }).click();
    const grid = page.getByRole("dialog").getByRole("grid");
    await expect(grid).toHaveAttribute("aria-rowcount", "3582");
    await grid.focus();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Control+End");
    await expect(grid.getByRole("row").last()).toContainText("3581");
    await expect(grid.getByRole("row")).not.toHaveCount(0);
    expect(await grid.getByRole("row").count()).toBeLessThan(200);
  });
});

test(
  "a chart is drawn, can be a table, and be saved as a picture",
  { tag: "@first" },
  async ({ page }) => {
    const chat = new Chat(page);
    await chat.begin("Show total sales by year as a bar chart");
    await chat.answered();
    const drawing = chat.last.locator("[role=img] svg, [role=img] canvas, svg[role=img]");
    await expect(drawing.first()).toBeVisible();
    const card = chat.last
      .getByRole("region")
      .filter({ has: page.getByRole("button", { name: "Table", exact: true }) })
      .first();
    await card.getByRole("button", { name: "Download" }).click();
    const picture = await saved(page, "PNG");
    expect(picture.suggestedFilename()).toMatch(/\.png$/);
    const png = await readFile(await picture.path());
    expect(png.subarray(1, 4).toString()).toBe("PNG");
    await card.getByRole("button", { name: "Table", exact: true }).click();
    await expect(chat.last.getByRole("button", { name: "Chart", exact: true })).toBeVisible();
    await expect(chat.last.getByRole("table").first()).toBeVisible();
  },
);

test("a figure leads to its cell and its SQL", async ({ page }) => {
  const chat = new Chat(page);
  await chat.begin("How many tracks are there?");
  await chat.answered();
  await expect(chat.last).toContainText(/\d+ figures? verified/);
  await chat.last.getByRole("button", { name: "3581 (checked against the data)" }).first().click();
  const why = page.getByRole("dialog", { name: "Where 3581 comes from" });
  await expect(why).toContainText("It stands in the result");
  await expect(why).toContainText("SELECT");
});

test("a result that is gone says so, wherever it is asked for", async ({ page, client }) => {
  const chat = new Chat(page);
  await chat.begin("Show total sales by year as a bar chart");
  await chat.answered();
  const { items } = await client.get<{ items: { artifact_id: string }[] }>(
    `/api/v1/artifacts?session_id=${page.url().split("/").at(-1) ?? ""}`,
  );
  expect(items.length).toBeGreaterThan(1);
  for (const { artifact_id: id } of items) {
    await client.send("DELETE", `/api/v1/artifacts/${id}`).catch(() => null); // went with its table
  }
  await page.reload();
  const gone = "This result is no longer kept";
  await expect(chat.last.getByText(gone).first()).toBeVisible(); // the chart
  await chat.last.getByRole("button", { name: "Download" }).first().click();
  await page.getByRole("menuitem").last().click();
  await expect(page.getByRole("region", { name: /Notifications/ }).getByText(gone)).toBeVisible();
  await chat.last.getByRole("button", { name: "Open", exact: true }).first().click();
  await expect(page.getByRole("dialog").getByText(gone)).toBeVisible();
});

test.describe("figures that no data backs", () => {
  test.use({ model: "scripted" });

  test("are marked so", async ({ page }) => {
    const chat = new Chat(page);
    await chat.begin(
      '```\n!tool sql_db_query {"query": "SELECT 41.5 AS b"}\n!echo It is 41.5, not 77,777.77.\n```',
    );
    await chat.answered();
    await expect(chat.last).toContainText("1 figure verified, 1 not backed by data");
    await chat.last.getByRole("button", { name: "77,777.77 (not found in the data)" }).click();
    await expect(page.getByRole("dialog", { name: "Where 77,777.77 comes from" })).toContainText(
      "Check this number yourself",
    );
  });
});

test("the first screen offers examples that work", async ({ page }) => {
  const chat = new Chat(page);
  await chat.open();
  await expect(page.getByText("No language model is set up yet.")).toBeVisible();
  await page.getByRole("button", { name: /Revenue per month in 2024 as a chart/ }).click();
  await chat.answered();
  await expect(chat.last.getByRole("button", { name: "Download" }).first()).toBeVisible();
});
