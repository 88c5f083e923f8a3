/**
 * Which pages of a large result are needed for the rows in view, and how a page is filled. Pure.
 */

/** Rows of one request; the server gives at most 1,000. */
export const ROWS_PAGE_SIZE = 200;

/**
 * Rows in the grid. Browsers cannot lay out more: an element has at most some 17 million pixels.
 */
export const MAX_ROWS = 500_000;

/** The pages that hold the rows `first` to `last`, both included. */
export function pagesFor(first: number, last: number, total: number): number[] {
  const from = Math.max(0, Math.floor(first / ROWS_PAGE_SIZE));
  const to = Math.floor(Math.min(last, total - 1) / ROWS_PAGE_SIZE);
  return Array.from({ length: Math.max(0, to - from + 1) }, (_, at) => from + at);
}

/** The place of a row: its page, and its number there. */
export function placeOf(row: number): { page: number; at: number } {
  return { page: Math.floor(row / ROWS_PAGE_SIZE), at: row % ROWS_PAGE_SIZE };
}

/**
 * Rows `offset` to `offset + count`. The server ends an answer early where texts are very long;
 * the rest is asked for until it is there, or until an answer is empty.
 */
export async function fullPage<Row>(
  offset: number,
  count: number,
  fetchRows: (offset: number, limit: number) => Promise<Row[]>,
): Promise<Row[]> {
  const rows: Row[] = [];
  while (rows.length < count) {
    const more = await fetchRows(offset + rows.length, count - rows.length);
    if (more.length === 0) break;
    rows.push(...more);
  }
  return rows;
}

const NARROWEST = 72;
const WIDEST = 320;
const PER_CHARACTER = 8.2;
const AROUND = 28;

/** A column's width in pixels, by its name and the longest of some values. */
export function columnWidth(name: string, samples: string[]): number {
  const longest = Math.max(wide(name) + 2, ...samples.map(wide)); // 2: room for the sort arrow
  return Math.round(Math.min(WIDEST, Math.max(NARROWEST, longest * PER_CHARACTER + AROUND)));
}

/** Characters, where a Chinese one takes the room of two. */
function wide(text: string): number {
  let width = 0;
  for (const character of text.slice(0, 60)) width += character > "\u2e7f" ? 2 : 1;
  return width;
}
