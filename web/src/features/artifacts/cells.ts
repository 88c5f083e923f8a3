/**
 * How a value of a result is written: as it is; only the noise of binary fractions is not shown.
 */

import type { Json } from "@/events/types";

/** As many digits of a fraction as the server sends and exports: the screen agrees with both. */
const SHOWN_DIGITS = 15;
const NUMBERS = /^(u?int\d+|float|double|halffloat|decimal)/;

/** Whether a column's values stand right, their digits under each other. */
export function isNumberType(type: string): boolean {
  return NUMBERS.test(type);
}

/** The value's text; null for no value. Big integers and decimals come as text already. */
export function cellText(value: Json | undefined): string | null {
  if (value === null || value === undefined) return null;
  if (typeof value === "string") return value;
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** What stands in the cell: as `cellText`, without the last digits of a binary fraction. */
export function shownText(value: Json | undefined): string | null {
  const isFraction = typeof value === "number" && !Number.isInteger(value);
  return cellText(isFraction ? Number(value.toPrecision(SHOWN_DIGITS)) : value);
}
