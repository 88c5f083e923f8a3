/** Days of use → what is shown of them. Pure. */

import type { Schemas } from "@/api/client";

export type DayUsage = Pick<
  Schemas["DayUsageInfo"],
  "day" | "runs" | "input_tokens" | "output_tokens" | "tool_calls" | "wall_seconds"
>;

interface Total {
  runs: number;
  tokens: number;
  toolCalls: number;
  seconds: number;
}

export function totalOf(days: readonly DayUsage[]): Total {
  const sum = (of: (day: DayUsage) => number) => days.reduce((total, day) => total + of(day), 0);
  return {
    runs: sum((day) => day.runs),
    tokens: sum((day) => day.input_tokens + day.output_tokens),
    toolCalls: sum((day) => day.tool_calls),
    seconds: sum((day) => day.wall_seconds),
  };
}

/** Each of the last days in order, also those without use. The server counts in UTC days. */
export function daysBack(
  days: readonly DayUsage[],
  count: number,
  now: Date,
): { day: string; runs: number }[] {
  const runs = new Map(days.map((day) => [day.day, day.runs]));
  return Array.from({ length: count }, (_, at) => {
    const date = new Date(now);
    date.setUTCDate(date.getUTCDate() - (count - 1 - at));
    const day = date.toISOString().slice(0, 10);
    return { day, runs: runs.get(day) ?? 0 };
  });
}
