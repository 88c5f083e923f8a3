import fc from "fast-check";
import { describe, expect, it } from "vitest";

import { highlight } from "./highlight";

describe("highlight", () => {
  it("changes nothing of a code", () => {
    const languages = fc.constantFrom(
      "sql",
      "python",
      "json",
      "bash",
      "yaml",
      "diff",
      "html",
      "ts",
    );
    fc.assert(
      fc.property(languages, fc.string(), (language, code) => {
        const pieces = highlight(code, language) ?? [];
        expect(pieces.map((piece) => piece.text).join("")).toBe(code);
      }),
      { numRuns: 200 },
    );
  });

  it("tells words of SQL from the rest", () => {
    const pieces = highlight("SELECT name FROM t WHERE n = 'x'", "sql") ?? [];
    const looks = Object.fromEntries(pieces.map(({ text, look }) => [text.trim(), look]));
    expect(looks["SELECT"]).toBe("hljs-keyword");
    expect(looks["'x'"]).toBe("hljs-string");
  });

  it("leaves languages alone that it does not know", () => {
    expect(highlight("x", "brainfuck")).toBeNull();
  });
});
