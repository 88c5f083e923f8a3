import { describe, expect, it } from "vitest";

import { groupByDay, type ConversationInfo } from "./groups";

const NOW = new Date(2026, 2, 10, 14, 30);

function conversation(id: string, ...date: [number, number, number, number?, number?]) {
  const [year, month, day, hour = 12, minute = 0] = date;
  const at = new Date(year, month, day, hour, minute).toISOString();
  return { id, thread_id: id, title: id, created_at: at, updated_at: at };
}

function named(conversations: ConversationInfo[]): [string, string[]][] {
  return groupByDay(conversations, NOW).map(({ when, items }) => [
    typeof when === "string" ? when : `${when.getFullYear()}-${when.getMonth() + 1}`,
    items.map((item) => item.id),
  ]);
}

describe("groupByDay", () => {
  it("begins each day at midnight where the user is", () => {
    expect(
      named([
        conversation("now", 2026, 2, 10, 14, 29),
        conversation("midnight", 2026, 2, 10, 0, 0),
        conversation("late", 2026, 2, 9, 23, 59),
        conversation("yesterday", 2026, 2, 9, 0, 0),
        conversation("before", 2026, 2, 8, 23, 59),
      ]),
    ).toEqual([
      ["today", ["now", "midnight"]],
      ["yesterday", ["late", "yesterday"]],
      ["week", ["before"]],
    ]);
  });

  it("names months after seven days, also the present one", () => {
    expect(
      named([
        conversation("edge", 2026, 2, 3, 0, 0),
        conversation("march", 2026, 2, 2, 23, 59),
        conversation("february", 2026, 1, 27),
        conversation("a year ago", 2025, 1, 27),
      ]),
    ).toEqual([
      ["week", ["edge"]],
      ["2026-3", ["march"]],
      ["2026-2", ["february"]],
      ["2025-2", ["a year ago"]],
    ]);
  });

  it("shows one of the future as of today, and each only once", () => {
    const ahead = conversation("ahead", 2026, 2, 11);
    expect(named([ahead, ahead])).toEqual([["today", ["ahead"]]]);
  });

  it("has nothing for nothing", () => {
    expect(groupByDay([], NOW)).toEqual([]);
  });
});
