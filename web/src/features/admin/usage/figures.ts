/** Days of usage → bars stacked by user, sums for a table, and amounts as text. Pure. */

import type { Schemas } from "@/api/client";
import { formatDuration, formatNumber } from "@/lib/format";

export type UserDayUsage = Schemas["DayUsageInfo"];

export const MEASURES = ["tokens", "runs", "tool_calls", "sql_seconds", "cost"] as const;
export type Measure = (typeof MEASURES)[number];

/** More users than colours are one: the others. */
export const MOST_SERIES = 6;
export const OTHERS = "";

export interface Series {
  /** `OTHERS` for all who are not shown alone. */
  userId: string;
  name: string;
  total: number;
}

export interface Bar {
  day: string;
  /** In the order of the series. */
  values: number[];
  total: number;
}

export interface Chart {
  series: Series[];
  bars: Bar[];
  total: number;
}

function amountOf(usage: UserDayUsage, measure: Measure): number {
  switch (measure) {
    case "tokens":
      return usage.input_tokens + usage.output_tokens;
    case "cost":
      return usage.cost ?? 0;
    default:
      return usage[measure];
  }
}

/** A bar for each of the days, also for those on which nothing was used. */
export function chartOf(
  usage: readonly UserDayUsage[],
  measure: Measure,
  days: readonly string[],
): Chart {
  const series = seriesOf(usage, measure);
  const at = new Map(series.map((each, place) => [each.userId, place]));
  const others = at.get(OTHERS);
  const bars = new Map(
    days.map((day): [string, Bar] => [day, { day, values: series.map(() => 0), total: 0 }]),
  );
  for (const each of usage) {
    const bar = bars.get(each.day);
    const place = at.get(each.user_id) ?? others;
    if (bar === undefined || place === undefined) continue;
    const amount = amountOf(each, measure);
    bar.values[place] = (bar.values[place] ?? 0) + amount;
    bar.total += amount;
  }
  const shown = [...bars.values()];
  return { series, bars: shown, total: shown.reduce((sum, bar) => sum + bar.total, 0) };
}

/** Who used anything, most first. */
function seriesOf(usage: readonly UserDayUsage[], measure: Measure): Series[] {
  const all = totalsOf(usage)
    .map((each) => ({ userId: each.userId, name: each.name, total: each[measure] }))
    .filter((each) => each.total > 0)
    .sort((a, b) => b.total - a.total || a.name.localeCompare(b.name));
  if (all.length <= MOST_SERIES) return all;
  const rest = all.slice(MOST_SERIES - 1).reduce((sum, each) => sum + each.total, 0);
  return [...all.slice(0, MOST_SERIES - 1), { userId: OTHERS, name: OTHERS, total: rest }];
}

export interface UserTotal extends Record<Measure, number> {
  userId: string;
  name: string;
}

/** What each user used in all the days, who used most tokens first. */
export function totalsOf(usage: readonly UserDayUsage[]): UserTotal[] {
  const totals = new Map<string, UserTotal>();
  for (const each of usage) {
    const total = totals.get(each.user_id) ?? {
      userId: each.user_id,
      name: each.username ?? each.user_id,
      tokens: 0,
      runs: 0,
      tool_calls: 0,
      sql_seconds: 0,
      cost: 0,
    };
    for (const measure of MEASURES) total[measure] += amountOf(each, measure);
    totals.set(each.user_id, total);
  }
  return [...totals.values()].sort((a, b) => b.tokens - a.tokens || a.name.localeCompare(b.name));
}

/** Round marks from 0 up to at least `most`: steps of 1, 2 or 5 times a power of ten. */
export function ticksOf(most: number, atMost = 5): number[] {
  if (!(most > 0)) return [0, 1];
  const power = 10 ** Math.floor(Math.log10(most / atMost));
  const step =
    [1, 2, 5, 10].map((each) => each * power).find((each) => most / each <= atMost) ?? 10 * power;
  const count = Math.ceil(most / step - 1e-9);
  // from the whole number of steps, so that no error of addition shows
  return Array.from({ length: count + 1 }, (_, at) => Number((at * step).toPrecision(12)));
}

/** Days are UTC, as the server counts them. */
export interface DayRange {
  from: string;
  to: string;
}

const DAY_MS = 86_400_000;

/** A year that is half typed is one, too: two thousand years of bars would be drawn. */
const MOST_DAYS = 3 * 366;

export function dayOf(moment: number): string {
  return new Date(moment).toISOString().slice(0, 10);
}

/** The last so many days, today included. */
export function lastDays(count: number, now: number): DayRange {
  return { from: dayOf(now - (count - 1) * DAY_MS), to: dayOf(now) };
}

/** Every day of the range, the first one first; none when it is the wrong way round or too long. */
export function daysOf({ from, to }: DayRange): string[] {
  const first = Date.parse(from);
  const last = Date.parse(to);
  if (Number.isNaN(first) || Number.isNaN(last) || last < first) return [];
  const count = Math.round((last - first) / DAY_MS) + 1;
  if (count > MOST_DAYS) return [];
  return Array.from({ length: count }, (_, at) => dayOf(first + at * DAY_MS));
}

const SMALLEST_SHOWN = 0.01;

export function formatAmount(amount: number, measure: Measure, currency: string): string {
  switch (measure) {
    case "cost":
      return formatNumber(amount, {
        style: "currency",
        currency,
        maximumFractionDigits: amount > 0 && amount < SMALLEST_SHOWN ? 6 : 2,
      });
    case "sql_seconds":
      return amount === 0 ? "0 s" : formatDuration(amount);
    default:
      return formatNumber(amount);
  }
}

/** Short, for the marks of a scale. */
export function formatMark(amount: number, measure: Measure, currency: string): string {
  if (measure === "cost")
    return formatNumber(amount, { style: "currency", currency, notation: "compact" });
  const short = formatNumber(amount, { notation: "compact", maximumSignificantDigits: 3 });
  return measure === "sql_seconds" ? `${short} s` : short;
}
