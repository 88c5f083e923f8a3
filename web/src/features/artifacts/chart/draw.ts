/**
 * Draws a clean specification. Loaded when the first chart is shown: vega is large. Expressions
 * that vega-lite makes are interpreted, never compiled, as the page's policy forbids; nothing is
 * loaded.
 */

import { Error as OnlyErrors, loader, parse, View, type Loader, type TooltipHandler } from "vega";
import { expressionInterpreter } from "vega-interpreter";
import { compile, type TopLevelSpec } from "vega-lite";

import type { CleanSpec } from "./cleanSpec";
import { levelled } from "./labels";
import { chartLook } from "./look";

export interface Drawn {
  resize: (width: number) => void;
  end: () => void;
}

export interface DrawOptions {
  width: number;
  label: string;
  onTooltip: TooltipHandler;
}

const HEIGHT = 280;
const MOST_SVG_VALUES = 2_000;
const MANY = ["facet", "hconcat", "vconcat", "concat", "repeat"];

/** A loader that loads nothing. */
function noLoader(): Loader {
  const refuse = () => Promise.reject(new Error("A chart loads nothing."));
  return { ...loader(), load: refuse, sanitize: refuse, http: refuse, file: refuse };
}

export async function drawChart(
  element: HTMLElement,
  { spec, values }: CleanSpec,
  options: DrawOptions,
): Promise<Drawn> {
  const isOne = !MANY.some((key) => key in spec);
  const isRound = spec["mark"] !== undefined && JSON.stringify(spec["mark"]).includes("arc");
  const sized = isOne && {
    width: options.width,
    height: typeof spec["height"] === "number" ? Math.min(spec["height"], 600) : HEIGHT,
    autosize: { type: isRound ? "fit" : "fit-x", contains: "padding" },
  };
  const whole = {
    ...(isOne ? levelled(spec, values, options.width) : spec),
    ...sized,
    data: { values },
  };
  // the border from JSON: vega-lite checks it by itself and throws on what it cannot draw
  const { spec: compiled } = compile(whole as unknown as TopLevelSpec, { config: chartLook() });
  const view = new View(parse(compiled, undefined, { ast: true }), {
    container: element,
    expr: expressionInterpreter,
    loader: noLoader(),
    renderer: values.length > MOST_SVG_VALUES ? "canvas" : "svg",
    logLevel: OnlyErrors,
    tooltip: options.onTooltip,
    hover: false,
  });
  view.description(options.label);
  await view.runAsync();
  return {
    resize: (width) => {
      if (isOne) void view.width(width).runAsync();
    },
    end: () => view.finalize(),
  };
}
