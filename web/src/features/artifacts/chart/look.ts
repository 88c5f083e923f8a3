/** A chart's look, taken from the page's colours, so that it follows light and dark. */

import type { Config } from "vega-lite";

import { extended } from "./colours";

const SERIES = [1, 2, 3, 4, 5, 6, 7, 8];

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
