import { describe, expect, it } from "vitest";

import type { JsonObject } from "@/events/types";

import { levelled } from "./labels";

const bars = (x: JsonObject): JsonObject => ({
  mark: "bar",
  encoding: { x: { field: "name", type: "nominal", ...x }, y: { field: "n" } },
});
const rows = (...names: string[]) => names.map((name, n) => ({ name, n }));

function angleOf(spec: JsonObject): unknown {
  const { x } = spec["encoding"] as { x: { axis?: { labelAngle?: number } | null } };
  return x.axis?.labelAngle;
}

describe("names below a chart", () => {
  it("are level where they fit", () => {
    expect(angleOf(levelled(bars({}), rows("2021", "2022", "2023"), 700))).toBe(0);
    expect(angleOf(levelled(bars({ type: "ordinal" }), rows("北京", "上海"), 400))).toBe(0);
  });

  it("are left to vega where they do not", () => {
    const many = rows(...Array.from({ length: 30 }, (_, at) => `Country ${at}`));
    expect(angleOf(levelled(bars({}), many, 700))).toBeUndefined();
    expect(
      angleOf(levelled(bars({}), rows("北".repeat(20), "京".repeat(20)), 400)),
    ).toBeUndefined();
  });

  it("stay as the chart sets them", () => {
    expect(angleOf(levelled(bars({ axis: { labelAngle: -45 } }), rows("a"), 700))).toBe(-45);
    expect(angleOf(levelled(bars({ axis: null }), rows("a"), 700))).toBeUndefined();
    expect(angleOf(levelled(bars({ type: "quantitative" }), rows("a"), 700))).toBeUndefined();
    expect(angleOf(levelled(bars({ timeUnit: "year" }), rows("a"), 700))).toBeUndefined();
    expect(levelled({ mark: "arc" }, rows("a"), 700)).toEqual({ mark: "arc" });
  });
});
