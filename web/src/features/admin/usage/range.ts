/** Days of usage: which are asked for. Days are UTC, as the server counts them. */

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
