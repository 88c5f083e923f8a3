import fc from "fast-check";
import { describe, expect, it } from "vitest";

import {
  chartOf,
  daysOf,
  type UserDayUsage,
  lastDays,
  MOST_SERIES,
  OTHERS,
  ticksOf,
  totalsOf,
} from "./figures";

function used(userId: string, day: string, more: Partial<UserDayUsage> = {}): UserDayUsage {
  return {
    user_id: userId,
    username: `name of ${userId}`,
    day,
    runs: 1,
    input_tokens: 10,
    output_tokens: 5,
    tool_calls: 2,
    sql_seconds: 0.5,
    wall_seconds: 1,
    cost: null,
    currency: null,
    ...more,
  };
}

const DAYS = ["2026-02-27", "2026-02-28", "2026-03-01"];

describe("days", () => {
  it("are all days of the range, across months", () => {
    expect(daysOf({ from: "2026-02-27", to: "2026-03-01" })).toEqual(DAYS);
    expect(daysOf({ from: "2026-03-01", to: "2026-03-01" })).toEqual(["2026-03-01"]);
    expect(daysOf({ from: "2026-03-02", to: "2026-03-01" })).toEqual([]);
    expect(daysOf({ from: "", to: "2026-03-01" })).toEqual([]);
    expect(daysOf({ from: "0002-03-01", to: "2026-03-01" })).toEqual([]);
    expect(daysOf({ from: "2023-03-01", to: "2026-03-01" })).toHaveLength(1097);
  });

  it("end today", () => {
    const now = Date.UTC(2026, 2, 1, 23, 59);
    expect(lastDays(3, now)).toEqual({ from: "2026-02-27", to: "2026-03-01" });
  });
});

describe("a chart of usage", () => {
  it("has a bar for each day, stacked by user, most first", () => {
    const usage = [used("a", DAYS[0] ?? ""), used("b", DAYS[0] ?? "", { input_tokens: 100 })];
    expect(chartOf([...usage, used("a", DAYS[2] ?? "")], "tokens", DAYS)).toEqual({
      series: [
        { userId: "b", name: "name of b", total: 105 },
        { userId: "a", name: "name of a", total: 30 },
      ],
      bars: [
        { day: "2026-02-27", values: [105, 15], total: 120 },
        { day: "2026-02-28", values: [0, 0], total: 0 },
        { day: "2026-03-01", values: [0, 15], total: 15 },
      ],
      total: 135,
    });
  });

  it("loses nothing when there are more users than colours", () => {
    const day = DAYS[0] ?? "";
    const usage = Array.from({ length: 20 }, (_, at) => used(`u${at}`, day, { runs: at + 1 }));
    const chart = chartOf(usage, "runs", DAYS);
    expect(chart.series).toHaveLength(MOST_SERIES);
    expect(chart.series.at(-1)?.userId).toBe(OTHERS);
    expect(chart.total).toBe(210);
    expect(chart.bars[0]?.values.reduce((a, b) => a + b, 0)).toBe(210);
  });

  it("counts no cost where no price is set", () => {
    const usage = [used("a", DAYS[0] ?? ""), used("b", DAYS[0] ?? "", { cost: 0.25 })];
    expect(chartOf(usage, "cost", DAYS).series).toEqual([
      { userId: "b", name: "name of b", total: 0.25 },
    ]);
  });
});

describe("totals", () => {
  it("add up a user's days, and name who has no account by id", () => {
    const usage = [used("a", DAYS[0] ?? "", { username: null }), used("a", DAYS[1] ?? "")];
    expect(totalsOf(usage)).toEqual([
      { userId: "a", name: "a", tokens: 30, runs: 2, tool_calls: 4, sql_seconds: 1, cost: 0 },
    ]);
  });
});

describe("marks of a scale", () => {
  it.each([
    [0, [0, 1]],
    [1, [0, 0.2, 0.4, 0.6, 0.8, 1]],
    [7, [0, 2, 4, 6, 8]],
    [1234, [0, 500, 1000, 1500]],
    [0.003, [0, 0.001, 0.002, 0.003]],
  ])("for %d are %j", (most, marks) => {
    expect(ticksOf(most)).toEqual(marks);
  });

  it("reach the highest bar with few marks", () => {
    fc.assert(
      fc.property(fc.double({ min: 1e-6, max: 1e12, noNaN: true }), (most) => {
        const ticks = ticksOf(most);
        expect(ticks.at(-1)).toBeGreaterThanOrEqual(most * (1 - 1e-6));
        expect(ticks.length).toBeLessThanOrEqual(6);
      }),
    );
  });
});
