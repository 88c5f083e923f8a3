import fc from "fast-check";
import { describe, expect, it } from "vitest";

import { indentJson } from "./values";

describe("indentJson", () => {
  it("lays out any JSON as usual", () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 3 }), (json) => {
        expect(indentJson(json)).toBe(JSON.stringify(JSON.parse(json), null, 2));
      }),
      { numRuns: 100 },
    );
  });

  it("keeps every number as it is written", () => {
    const text = '{"id":12345678901234567890,"price":1.10,"tiny":1e-400}';
    expect(indentJson(text).replace(/\s/g, "")).toBe(text);
  });
});
