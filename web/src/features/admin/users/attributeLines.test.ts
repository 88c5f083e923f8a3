import fc from "fast-check";
import { describe, expect, it } from "vitest";

import { attributesOf, linesOf, problemOf, type AttributeLine } from "./attributeLines";

const plain = fc.oneof(
  fc.string(),
  fc.integer(),
  fc.boolean(),
  fc.double({ noNaN: true, noDefaultInfinity: true }).filter((value) => !Object.is(value, -0)),
  fc.constantFrom("007", "1.50", "true", '"quoted"', '"', " edge ", "two\nlines", "", "1e999"),
);
const name = fc.stringMatching(/^[a-z_][a-z0-9_]{0,20}$/).filter((each) => each !== "__proto__");

describe("attributes", () => {
  it("come back from their lines as they were", () => {
    fc.assert(
      fc.property(fc.dictionary(name, fc.oneof(plain, fc.array(plain))), (attributes) => {
        const lines = linesOf(attributes);
        expect(attributesOf(lines)).toEqual({ ...attributes });
        expect(lines.map((line) => problemOf(line, lines))).toEqual(lines.map(() => null));
      }),
      { numRuns: 500 },
    );
  });

  it("read a typed list item by item, and keep leading zeros as text", () => {
    const line: AttributeLine = { name: "codes", kind: "list", text: "Germany\n\n 12 \n007\ntrue" };
    expect(attributesOf([line])).toEqual({ codes: ["Germany", 12, "007", true] });
  });

  it("keep a number that is typed as text", () => {
    expect(attributesOf([{ name: "region", kind: "text", text: "12" }])).toEqual({ region: "12" });
  });

  it.each<[AttributeLine, string]>([
    [{ name: " ", kind: "text", text: "a" }, "noName"],
    [{ name: "2x", kind: "text", text: "a" }, "badName"],
    [{ name: "twice", kind: "text", text: "a" }, "sameName"],
    [{ name: "amount", kind: "number", text: "1,5" }, "noNumber"],
    [{ name: "flag", kind: "yesNo", text: "" }, "noYesNo"],
  ])("say what is wrong with %j", (line, problem) => {
    const twin: AttributeLine = { name: "twice ", kind: "text", text: "b" };
    expect(problemOf(line, [line, twin])).toBe(problem);
  });
});
