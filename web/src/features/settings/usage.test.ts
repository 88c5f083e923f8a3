import { describe, expect, it } from "vitest";

import { daysBack, totalOf, type DayUsage } from "./usage";

function day(name: string, runs: number): DayUsage {
  return {
    day: name,
    runs,
    input_tokens: 10 * runs,
    output_tokens: runs,
    tool_calls: 2,
    wall_seconds: 1.5,
  };
}

describe("totalOf", () => {
  it("adds the days up", () => {
    expect(totalOf([day("2026-03-01", 2), day("2026-03-02", 3)])).toEqual({
      runs: 5,
      tokens: 55,
      toolCalls: 4,
      seconds: 3,
    });
  });
});

describe("daysBack", () => {
  it("has each day once, in order, across a month's end", () => {
    const now = new Date("2026-03-02T01:00:00Z");
    expect(daysBack([day("2026-02-28", 4), day("2026-03-02", 1)], 4, now)).toEqual([
      { day: "2026-02-27", runs: 0 },
      { day: "2026-02-28", runs: 4 },
      { day: "2026-03-01", runs: 0 },
      { day: "2026-03-02", runs: 1 },
    ]);
  });
});
