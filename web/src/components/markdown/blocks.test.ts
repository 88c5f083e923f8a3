import fc from "fast-check";
import { fromMarkdown } from "mdast-util-from-markdown";
import { describe, expect, it } from "vitest";

import { splitBlocks } from "./blocks";

const PIECES = [
  "A paragraph\nof two lines",
  "# Heading",
  "- one\n- two\n\n- three",
  "1. first\n\n   more of the first\n\n2. second",
  "```sql\nSELECT 1\n\n\nFROM x\n```",
  "~~~\n```\n\nnot closed by this\n~~~",
  "- item\n\n  ```\n  code\n\n  more\n  ```\n\n  after",
  "- ```\n  in the marker's line\n\n  more\n  ```",
  "> quoted\n>\n> more",
  "| a | b |\n| --- | --- |\n| 1 | 2 |",
  "    indented code\n\n    more of it",
  "***",
  "Text with ``` in it",
  "段落：一二三 😀",
];

/** The kinds and texts of a tree, without positions. */
function shape(text: string): unknown {
  const bare = (node: object): unknown =>
    Object.fromEntries(
      Object.entries(node)
        .filter(([name]) => name !== "position")
        .map(([name, value]: [string, unknown]) => [
          name,
          Array.isArray(value) ? value.map((each: object) => bare(each)) : value,
        ]),
    );
  return fromMarkdown(text).children.map(bare);
}

describe("splitBlocks", () => {
  it("loses nothing of any text", () => {
    const lines = fc.array(
      fc.oneof(
        fc.constantFrom("", "```", "~~~~", "- a", "1. b", "    c", "| d |", "[e]: f"),
        fc.string(),
      ),
    );
    fc.assert(
      fc.property(lines, (parts) => {
        const text = parts.join("\n");
        expect(splitBlocks(text).join("")).toBe(text);
      }),
      { numRuns: 500 },
    );
  });

  it("cuts only where the parser does: blocks one by one mean what the whole means", () => {
    const texts = fc.array(fc.constantFrom(...PIECES), { minLength: 1, maxLength: 6 });
    fc.assert(
      fc.property(texts, (pieces) => {
        const text = pieces.join("\n\n");
        const apart = splitBlocks(text).flatMap((block) => shape(block));
        expect(apart).toEqual(shape(text));
      }),
      { numRuns: 150 },
    );
  });

  it("keeps finished blocks as they are while the text grows", () => {
    const text = PIECES.filter((piece) => !piece.startsWith("-")).join("\n\n");
    const whole = splitBlocks(text);
    for (let end = 1; end < text.length; end += 7) {
      const sofar = splitBlocks(text.slice(0, end));
      expect(whole.slice(0, sofar.length - 1)).toEqual(sofar.slice(0, -1));
    }
    expect(whole.length).toBeGreaterThan(6);
  });

  it("does not cut a text that defines links: they may be used anywhere", () => {
    expect(splitBlocks("see [x]\n\nmore\n\n[x]: https://example.com")).toHaveLength(1);
  });
});
