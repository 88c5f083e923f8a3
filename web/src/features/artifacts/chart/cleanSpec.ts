/**
 * A chart's specification made harmless. It was written by a model, and a model repeats what it has
 * read: the server has checked it, and this looks again, right before it is drawn. What is left
 * loads nothing, links nowhere, listens to nothing outside its own drawing and runs no expression.
 * Pure.
 */

import type { Json, JsonObject } from "@/events/types";

import { isObject } from "../previews";

export type SpecProblem = "notASpec" | "tooLarge" | "noData" | "expression" | "ownData" | "mark";

/** The specification cannot be drawn without what makes it dangerous. `path` says where. */
export class SpecRefused extends Error {
  override readonly name = "SpecRefused";

  constructor(
    readonly reason: SpecProblem,
    readonly path: string,
  ) {
    super(`${reason} at ${path}`);
  }
}

export interface CleanSpec {
  /** Vega-Lite without data. */
  spec: JsonObject;
  values: JsonObject[];
}

/** Left out: the drawing says the same without them. */
const DROPPED = new Set([
  ...[
    "$schema",
    "usermeta",
    "datasets",
    "params",
    "selection",
    "signals",
    "bind",
    "on",
    "events",
    "href",
  ],
  ...["url", "cursor", "projection", "font", "labelFont", "titleFont", "subtitleFont", "style"],
  ...["__proto__", "constructor", "prototype"],
]);

/** Refused: the drawing would say something else without them. */
const EXPRESSIONS = new Set(["expr", "signal", "calculate", "labelExpr", "update"]);
const OWN_DATA = new Set(["data", "lookup", "from", "sequence", "graticule", "sphere"]);
const MARKS = new Set([
  ...["bar", "line", "area", "point", "arc", "rect", "tick", "boxplot", "text", "rule"],
  ...["circle", "square", "trail", "errorbar", "errorband"],
]);
/** In these a text is an expression; an object is a comparison and is harmless. */
const PREDICATES = new Set(["filter", "test"]);
const MAX_DEPTH = 24;
const MAX_NODES = 20_000;
const MAX_VALUES = 50_000;

/** The specification and its rows. Throws `SpecRefused`. */
export function cleanSpec(given: unknown): CleanSpec {
  if (!isObject(given)) throw new SpecRefused("notASpec", "$");
  const { data, ...rest } = given;
  const budget = { left: MAX_NODES };
  return { spec: cleanObject(rest, "$", 0, budget), values: rowsOf(data) };
}

function rowsOf(data: Json | undefined): JsonObject[] {
  const values = isObject(data) ? data["values"] : undefined;
  if (!Array.isArray(values)) throw new SpecRefused("noData", "$.data");
  if (values.length > MAX_VALUES) throw new SpecRefused("tooLarge", "$.data.values");
  return values.filter(isObject).map(flatRow);
}

/** A row's plain values only: vega takes an object in a row for something to look into. */
function flatRow(row: JsonObject): JsonObject {
  const cells = Object.entries(row).filter(([key, cell]) => key !== "__proto__" && isPlain(cell));
  return Object.fromEntries(cells);
}

function isPlain(value: Json): boolean {
  return value === null || typeof value !== "object";
}

interface Budget {
  left: number;
}

function cleanValue(value: Json, path: string, depth: number, budget: Budget): Json {
  budget.left -= 1;
  if (depth > MAX_DEPTH || budget.left < 0) throw new SpecRefused("tooLarge", path);
  if (Array.isArray(value)) {
    return value.map((each, at) => cleanValue(each, `${path}[${at}]`, depth + 1, budget));
  }
  return isObject(value) ? cleanObject(value, path, depth + 1, budget) : value;
}

function cleanObject(given: JsonObject, path: string, depth: number, budget: Budget): JsonObject {
  const kept: [string, Json][] = [];
  for (const [key, value] of Object.entries(given)) {
    if (DROPPED.has(key)) continue;
    check(key, value, `${path}.${key}`);
    kept.push([key, cleanValue(value, `${path}.${key}`, depth, budget)]);
  }
  return Object.fromEntries(kept);
}

function check(key: string, value: Json, path: string): void {
  if (EXPRESSIONS.has(key)) throw new SpecRefused("expression", path);
  if (OWN_DATA.has(key)) throw new SpecRefused("ownData", path);
  if (PREDICATES.has(key) && hasText(value)) throw new SpecRefused("expression", path);
  if (key === "mark" && !isKnownMark(value)) throw new SpecRefused("mark", path);
}

/** Whether a predicate, or one that it combines with `and`, `or`, `not`, is written as text. */
function hasText(predicate: Json | undefined): boolean {
  if (typeof predicate === "string") return true;
  if (Array.isArray(predicate)) return predicate.some(hasText);
  if (!isObject(predicate)) return false;
  return [predicate["and"], predicate["or"], predicate["not"]].some(hasText);
}

function isKnownMark(mark: Json): boolean {
  const type = isObject(mark) ? mark["type"] : mark;
  return isObject(mark) && type === undefined ? true : typeof type === "string" && MARKS.has(type);
}
