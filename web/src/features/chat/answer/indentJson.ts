/**
 * JSON laid out by its text. Pure.
 *
 * Not by `JSON.parse` and back, which changes numbers: 12345678901234567890 would become
 * 12345678901234567000, and 1.10 become 1.1.
 */

const DEEPEST = 50; // levels; what lies deeper is not moved further to the right
const TOKEN = /"(?:[^"\\]|\\.)*"|[[\]{},:]|[^\s[\]{},:"]+/g;

/**
 * The end of a line and the spaces of the next, by depth: made once, a deep text has many lines.
 */
const LINES = Array.from({ length: DEEPEST + 1 }, (_, depth) => `\n${"  ".repeat(depth)}`);

/** Valid JSON with a line for each value. */
export function indentJson(json: string): string {
  const tokens = json.match(TOKEN) ?? [];
  const out: string[] = [];
  let depth = 0;
  const line = () => LINES[Math.min(depth, DEEPEST)] ?? "\n";
  tokens.forEach((token, at) => {
    if (token === "{" || token === "[") {
      depth += 1;
      const isEmpty = tokens[at + 1] === "}" || tokens[at + 1] === "]";
      out.push(token, isEmpty ? "" : line());
    } else if (token === "}" || token === "]") {
      depth -= 1;
      const isEmpty = tokens[at - 1] === "{" || tokens[at - 1] === "[";
      out.push(isEmpty ? "" : line(), token);
    } else if (token === ",") {
      out.push(token, line());
    } else {
      out.push(token === ":" ? ": " : token);
    }
  });
  return out.join("");
}
