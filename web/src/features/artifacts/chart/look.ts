/** How charts look on this page: colours and fonts. */

import type { Config } from "vega-lite";

const SERIES = [1, 2, 3, 4, 5, 6, 7, 8];

/** A chart's look, taken from the page's colours, so that it follows light and dark. */
export function chartLook(): Config {
  const style = getComputedStyle(document.documentElement);
  const colour = (name: string) => style.getPropertyValue(`--${name}`).trim();
  const named = SERIES.map((at) => colour(`series-${at}`));
  const [text, muted, line] = [colour("text"), colour("muted"), colour("line")];
  const series = extended(named, colour("ground"), text);
  const ramp = [colour("accent-soft"), colour("accent")];
  return {
    background: "transparent",
    font: getComputedStyle(document.body).fontFamily,
    padding: 4,
    view: { stroke: "transparent" },
    mark: { color: series[0] ?? text, tooltip: true },
    arc: { stroke: colour("raised") },
    text: { color: text },
    axis: {
      domainColor: line,
      gridColor: line,
      tickColor: line,
      labelColor: muted,
      titleColor: text,
      titleFontWeight: 500,
      labelFontSize: 11,
      titleFontSize: 12,
      labelLimit: 140,
    },
    axisX: { grid: false, labelOverlap: true, labelSeparation: 4 },
    legend: {
      labelColor: text,
      titleColor: muted,
      titleFontWeight: 500,
      labelLimit: 180,
      symbolLimit: 14,
    },
    header: { labelColor: text, titleColor: muted },
    title: { color: text, subtitleColor: muted, anchor: "start", fontWeight: 600 },
    range: { category: series, ramp, heatmap: ramp, ordinal: ramp },
    // fifteen digits are all that a browser's number has: the value is not rounded further
    tooltipFormat: { numberFormat: ",.15~r" },
  };
}

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
