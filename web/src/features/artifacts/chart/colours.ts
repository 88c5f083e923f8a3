/**
 * Colours for more series than the page names: each name's colour, then lighter, then darker. Pure.
 */

const HEX = /^#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})$/i;

/** A colour between two, both as `#rrggbb`; the first where one of them is not. */
export function mixed(one: string, two: string, share: number): string {
  const [from, to] = [HEX.exec(one), HEX.exec(two)];
  if (!from || !to) return one;
  const parts = [1, 2, 3].map((at) => {
    const [start, end] = [parseInt(from[at] ?? "0", 16), parseInt(to[at] ?? "0", 16)];
    return Math.round(start + (end - start) * share)
      .toString(16)
      .padStart(2, "0");
  });
  return `#${parts.join("")}`;
}

/** Three times as many colours, no two the same. */
export function extended(series: string[], ground: string, text: string): string[] {
  return [
    ...series,
    ...series.map((colour) => mixed(colour, ground, 0.45)),
    ...series.map((colour) => mixed(colour, text, 0.45)),
  ];
}
