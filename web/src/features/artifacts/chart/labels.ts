/**
 * Names below a chart: level where they fit beside each other. Vega-Lite turns them all upright.
 * Pure.
 */

import type { Json, JsonObject } from "@/events/types";

import { isObject } from "../previews";

const NAMED = ["nominal", "ordinal"];
const CHARACTER_PX = 6.5;
const WIDE_PX = 12;
const GAP_PX = 8;
const AXIS_PX = 60;

/** The specification with level names on its horizontal axis, if there is room for them. */
export function levelled(
  spec: JsonObject,
  values: readonly JsonObject[],
  width: number,
): JsonObject {
  const encoding = spec["encoding"];
  if (!isObject(encoding) || !isObject(encoding["x"])) return spec;
  const x = encoding["x"];
  const { field, type, axis } = x;
  const isPlain = typeof field === "string" && typeof type === "string" && NAMED.includes(type);
  if (!isPlain || "timeUnit" in x || axis === null) return spec;
  const set = isObject(axis) ? axis : {};
  if ("labelAngle" in set || !isRoom(namesOf(values, field), width)) return spec;
  return {
    ...spec,
    encoding: { ...encoding, x: { ...x, axis: { ...set, labelAngle: 0 } } },
  };
}

function namesOf(values: readonly JsonObject[], field: string): string[] {
  return [...new Set(values.map((row) => nameOf(row[field] ?? "")))];
}

function nameOf(value: Json): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

function isRoom(names: string[], width: number): boolean {
  const longest = Math.max(0, ...names.map(pixels));
  return names.length * (longest + GAP_PX) <= width - AXIS_PX;
}

function pixels(name: string): number {
  const wide = (name.match(/[\u1100-\uffff]/g) ?? []).length;
  return wide * WIDE_PX + (name.length - wide) * CHARACTER_PX;
}
