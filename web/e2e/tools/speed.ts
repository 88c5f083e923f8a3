/**
 * How fast the page answers a person while it is busy: for `bench/web.py`, which names the file.
 *
 * Interaction to next paint is what the browser's Event Timing says of each key, click and opened
 * menu: from the input to the frame that shows what came of it.
 */

import { writeFile } from "node:fs/promises";

import type { Page } from "@playwright/test";

import { Chat } from "../kit/chat";
import type { Client } from "../kit/client";
import { expect, test } from "../kit/fixtures";

const TURNS = Number(process.env["DATAAGENT_SPEED_TURNS"] ?? 250); // a question and an answer each
const SECONDS = 12;
const ANSWER =
  "Revenue in **2013** was 450.58, by *country*: USA 103.01, Canada 54.45, and `others`.";

interface Interactions {
  worst: number;
  median: number;
  count: number;
}

test.use({ as: "new" });
test.setTimeout(600_000);

test("interaction to next paint", async ({ page, client }) => {
  const found: Record<string, Interactions> = {};
  found["streaming"] = await busy(page, await conversation(client, 1));
  found["long"] = await busy(page, await conversation(client, TURNS));
  const file = process.env["DATAAGENT_SPEED_FILE"];
  if (file !== undefined) await writeFile(file, JSON.stringify(found));
  expect(Object.values(found).every((each) => each.count > 20)).toBe(true);
});

async function conversation(client: Client, turns: number): Promise<string> {
  const { id } = await client.post<{ id: string }>("/api/conversations");
  for (let turn = 0; turn < turns; turn += 1) {
    await client.ask(`!echo ${turn}: ${ANSWER}`, { session_id: id });
  }
  return id;
}

/** Use the page while fifty events a second arrive in a conversation. */
async function busy(page: Page, conversationId: string): Promise<Interactions> {
  await page.addInitScript(() => {
    const seen = window as unknown as { __interactions: Map<number, number> };
    seen.__interactions = new Map();
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries() as (PerformanceEntry & { interactionId: number })[]) {
        if (entry.interactionId === 0) continue;
        const before = seen.__interactions.get(entry.interactionId) ?? 0;
        seen.__interactions.set(entry.interactionId, Math.max(before, entry.duration));
      }
    }).observe({ type: "event", durationThreshold: 16, buffered: true } as PerformanceObserverInit);
  });
  const chat = new Chat(page);
  await chat.open(conversationId);
  await chat.answered();
  await chat.ask(`!slow ${SECONDS * 50} 20`);
  await expect(chat.last).toContainText("chunk20 ");
  await act(page, chat);
  await expect(chat.stop).toBeVisible(); // it was still being written
  await chat.stop.click();
  const durations = await page.evaluate(() => {
    const seen = window as unknown as { __interactions: Map<number, number> };
    return [...seen.__interactions.values()].sort((one, other) => one - other);
  });
  return {
    worst: durations.at(-1) ?? 0,
    median: durations[Math.floor(durations.length / 2)] ?? 0,
    count: durations.length,
  };
}

async function act(page: Page, chat: Chat): Promise<void> {
  await chat.input.click();
  await page.keyboard.type("What were the sales of each country last year?", { delay: 40 });
  await page
    .getByRole("button", { name: /^More for/ })
    .last()
    .click();
  await expect(page.getByRole("menu")).toBeVisible();
  await page.keyboard.press("Escape");
  await chat.last.getByRole("button", { name: "Copy the question" }).click();
  await page.getByRole("group", { name: "Who answers" }).getByRole("button").last().click();
  await page.getByRole("group", { name: "Who answers" }).getByRole("button").first().click();
  await page.getByRole("searchbox", { name: "Search conversations" }).click();
  await page.keyboard.type("sales", { delay: 40 });
}
