import { describe, expect, test } from "vitest";

import { cleanSpec, SpecRefused, type SpecProblem } from "./cleanSpec";

const VALUES = [
  { c0: "2021-01", c1: 40.6 },
  { c0: "2021-02", c1: 35.64 },
];
const LINE = {
  $schema: "https://vega.github.io/schema/vega-lite/v6.json",
  data: { values: VALUES },
  mark: { type: "line" },
  encoding: {
    x: { field: "c0", type: "ordinal", title: "month" },
    y: { field: "c1", type: "quantitative", title: "sales" },
  },
};

function refusal(spec: unknown): SpecProblem | null {
  try {
    cleanSpec(spec);
    return null;
  } catch (error) {
    if (error instanceof SpecRefused) return error.reason;
    throw error;
  }
}

/** Every key at any depth. */
function keysOf(node: unknown): string[] {
  if (Array.isArray(node)) return node.flatMap(keysOf);
  if (typeof node !== "object" || node === null) return [];
  return Object.entries(node).flatMap(([key, value]) => [key, ...keysOf(value)]);
}

test("an ordinary chart stays as it is, its rows beside it", () => {
  expect(cleanSpec(LINE)).toEqual({
    spec: { mark: LINE.mark, encoding: LINE.encoding },
    values: VALUES,
  });
});

test("comparisons as objects are kept", () => {
  const filter = { and: [{ field: "c1", gt: 10 }, { not: { field: "c0", equal: "x" } }] };
  expect(cleanSpec({ ...LINE, transform: [{ filter }] }).spec["transform"]).toEqual([{ filter }]);
});

describe("what the drawing does not need is left out", () => {
  const hostile: Record<string, unknown> = {
    "a link on the marks": {
      encoding: { ...LINE.encoding, href: { value: "javascript:alert(1)" } },
    },
    "a link in the mark": { mark: { type: "bar", href: "https://evil.example/?q=1" } },
    "an address channel": {
      encoding: { ...LINE.encoding, url: { value: "//evil.example/p.png" } },
    },
    "notes for the embedding page": { usermeta: { embedOptions: { loader: {}, ast: false } } },
    "parameters that listen to the window": {
      params: [{ name: "p", on: "window:message", select: { type: "point", on: "window:click" } }],
    },
    "an input bound to the page": { params: [{ name: "p", bind: { element: "body" } }] },
    "named data sets": { datasets: { more: [{ x: 1 }] } },
    "signals in the settings": { config: { signals: [{ name: "s", init: "alert(1)" }] } },
    "a pointer's address": { mark: { type: "bar", cursor: "url(https://evil.example/c.cur)" } },
    fonts: { config: { axis: { labelFont: "evil", titleFont: "evil" }, font: "evil" } },
  };
  test.each(Object.entries(hostile))("%s", (_, change) => {
    const { spec } = cleanSpec({ ...LINE, ...(change as object) });
    expect(JSON.stringify(spec)).not.toMatch(/evil|alert|window|body|embedOptions/);
    for (const key of ["href", "url", "usermeta", "params", "datasets", "signals", "bind", "on"]) {
      expect(keysOf(spec)).not.toContain(key);
    }
  });

  test("keys of the prototype", () => {
    const spec = JSON.parse(
      '{"data": {"values": [{"__proto__": {"x": 1}, "c0": 1}]}, "mark": "bar", "encoding": {"__proto__": {"polluted": 1}, "constructor": {"prototype": {"polluted": 1}}}}',
    ) as unknown;
    const clean = cleanSpec(spec);
    expect(clean.spec["encoding"]).toEqual({});
    expect(clean.values).toEqual([{ c0: 1 }]);
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
  });

  test("objects and lists within a row", () => {
    const data = { values: [{ c0: { toString: "x" }, c1: [1], c2: 5 }] };
    expect(cleanSpec({ ...LINE, data }).values).toEqual([{ c2: 5 }]);
  });

  test("any address beside the rows", () => {
    const data = { values: VALUES, url: "https://evil.example/data.json", name: "source" };
    expect(JSON.stringify(cleanSpec({ ...LINE, data }))).not.toContain("evil");
  });
});

describe("what would make another drawing is refused", () => {
  const hostile: [string, object, SpecProblem][] = [
    ["a calculated field", { transform: [{ calculate: "alert(1)", as: "x" }] }, "expression"],
    ["a filter in words", { transform: [{ filter: "event.view.alert(1)" }] }, "expression"],
    ["one within another", { transform: [{ filter: { or: [{ not: "x()" }] } }] }, "expression"],
    ["a condition in words", { encoding: { color: { condition: { test: "x()" } } } }, "expression"],
    ["an expression for a size", { mark: { type: "bar", width: { expr: "x()" } } }, "expression"],
    ["a signal for a size", { width: { signal: "containerSize()[0]" } }, "expression"],
    ["labels by expression", { encoding: { x: { axis: { labelExpr: "x()" } } } }, "expression"],
    ["a table looked up elsewhere", { transform: [{ lookup: "a", from: {} }] }, "ownData"],
    ["data of a layer", { layer: [{ data: { url: "//evil.example" }, mark: "bar" }] }, "ownData"],
    ["pictures", { mark: "image" }, "mark"],
    ["pictures in a layer", { layer: [{ mark: { type: "image" } }] }, "mark"],
    ["maps", { mark: "geoshape" }, "mark"],
    ["data from an address alone", { data: { url: "https://evil.example/d.json" } }, "noData"],
    ["no data", { data: null }, "noData"],
  ];
  test.each(hostile)("%s", (_, change, reason) => {
    expect(refusal({ ...LINE, ...change })).toBe(reason);
  });

  test.each([[null], [5], ["bar"], [[]]])("%j is no specification", (spec) => {
    expect(refusal(spec)).toBe("notASpec");
  });

  test("one that is too deep or too large", () => {
    let deep: object = { mark: "bar" };
    for (let at = 0; at < 40; at += 1) deep = { layer: [deep] };
    expect(refusal({ ...LINE, ...deep })).toBe("tooLarge");
    expect(refusal({ ...LINE, layer: Array(30_000).fill({}) })).toBe("tooLarge");
    expect(refusal({ ...LINE, data: { values: Array(50_001).fill({}) } })).toBe("tooLarge");
  });
});
