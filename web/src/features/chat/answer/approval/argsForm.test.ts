import fc from "fast-check";
import { describe, expect, it } from "vitest";

import type { JsonObject } from "@/events/types";

import { formFields, initialValues, readForm, type FormValues } from "./argsForm";

function edited(schema: JsonObject | undefined, args: JsonObject, changes: FormValues = {}) {
  const fields = formFields(schema, args);
  return readForm(fields, { ...initialValues(fields, args), ...changes }, args);
}

const SCHEMA: JsonObject = {
  type: "object",
  properties: {
    path: { type: "string", title: "Path" },
    count: { type: "integer", minimum: 1, maximum: 9 },
    ratio: { anyOf: [{ type: "number" }, { type: "null" }], default: null },
    isSure: { type: "boolean" },
    mode: { type: "string", enum: ["fast", "slow"] },
    tags: { type: "array", items: { type: "string", enum: ["a", "b"] } },
    more: { type: "object" },
  },
  required: ["path", "count"],
};

describe("formFields", () => {
  it("makes simple controls of simple fields, and JSON of the rest", () => {
    const kinds = formFields(SCHEMA, {}).map(({ name, kind }) => [name, kind]);
    expect(Object.fromEntries(kinds)).toEqual({
      path: "text",
      count: "integer",
      ratio: "number",
      isSure: "yesNo",
      mode: "choice",
      tags: "choices",
      more: "json",
    });
  });

  it("goes by the values where there is no schema, and keeps arguments a schema does not name", () => {
    const kinds = formFields(undefined, { a: "x", b: 1, c: true, d: [1], e: "l\nm" });
    expect(kinds.map(({ kind }) => kind)).toEqual(["text", "number", "yesNo", "json", "longText"]);
    expect(formFields(SCHEMA, { path: "p", other: 1 }).at(-1)?.name).toBe("other");
  });

  it("believes nothing of a schema that has another shape", () => {
    const odd: JsonObject = { properties: { a: "x", b: { type: 5, enum: "no" } }, required: "a" };
    expect(formFields(odd, {}).map(({ kind }) => kind)).toEqual(["json", "json"]);
  });
});

describe("readForm", () => {
  it("gives back any arguments that nobody changed", () => {
    const values = fc.dictionary(fc.string({ minLength: 1 }), fc.jsonValue({ maxDepth: 2 }));
    fc.assert(
      fc.property(values, (given) => {
        const args = JSON.parse(JSON.stringify(given)) as JsonObject;
        fc.pre(!Object.hasOwn(given, "__proto__"));
        expect(edited(undefined, args).args).toEqual(args);
      }),
      { numRuns: 100 },
    );
  });

  it("reads what was typed by its kind", () => {
    const changes = { path: " /a b ", count: "3", ratio: "0.5", isSure: true, mode: "slow" };
    const read = edited(SCHEMA, {}, { ...changes, tags: ["b"], more: '{"x": [1]}' });
    expect(read.args).toEqual({
      path: " /a b ",
      count: 3,
      ratio: 0.5,
      isSure: true,
      mode: "slow",
      tags: ["b"],
      more: { x: [1] },
    });
  });

  it("leaves out what is optional and empty, and keeps an explicit nothing", () => {
    expect(edited(SCHEMA, { path: "p", count: 1, ratio: null }).args).toEqual({
      path: "p",
      count: 1,
      ratio: null,
      isSure: false,
      tags: [],
    });
  });

  it.each<[FormValues, string, string]>([
    [{ path: "" }, "path", "required"],
    [{ count: "x" }, "count", "notNumber"],
    [{ count: "1.5" }, "count", "notInteger"],
    [{ count: "0" }, "count", "tooSmall"],
    [{ count: "10" }, "count", "tooLarge"],
    [{ more: "{x}" }, "more", "notJson"],
  ])("says what is wrong with %j", (changes, name, problem) => {
    const read = edited(SCHEMA, { path: "p", count: 1 }, changes);
    expect(read).toEqual({ args: null, problems: { [name]: problem } });
  });
});
