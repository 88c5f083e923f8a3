/** The colours of series in a chart, by their place: those of charts of data. */

import "@/features/artifacts/chart/chart.css";

const COUNT = 8;

export function colourOf(place: number): string {
  return `var(--series-${(place % COUNT) + 1})`;
}
