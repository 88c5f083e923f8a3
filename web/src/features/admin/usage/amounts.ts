/** Amounts of usage in the words of the user's language. */

import { formatDuration, formatNumber } from "@/lib/format";

import type { Measure } from "./stacks";

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
