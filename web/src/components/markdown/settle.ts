/**
 * The last block of a text that is still being written, without what is not yet certain: so marks
 * that are only half there do not show and vanish again. Pure; for display only.
 */

const ADDRESS = /https?:\/\/|www\./i;
const BARE_MARK = /\n[ \t]*(?:[-=*_]{1,}|#{1,6}|[-*+]|\d{1,9}[.)]|>|`{1,2}|~{1,2})[ \t]*$/;
const TABLE_RULE = /^\s*(?:\|\s*)?:?-+:?\s*(?:\|\s*:?-+:?\s*)*(?:\|\s*)?$/;

/** The block as it can be shown now. */
export function settle(block: string): string {
  if (isInFence(block)) return block;
  if (isTableWithoutRule(block)) return "";
  const certain = withoutOpenLink(block.replace(BARE_MARK, ""));
  if (ADDRESS.test(lastWord(certain))) return certain;
  return closed(certain);
}

/** With the text alone of a link whose address has not ended: `[text](https://exam`. */
function withoutOpenLink(block: string): string {
  const line = block.lastIndexOf("\n");
  const ended = Math.max(block.lastIndexOf(")"), line) + 1;
  let middle = block.indexOf("](", Math.max(0, ended - 2));
  while (middle >= 0) {
    const from = middle > 0 ? Math.max(block.lastIndexOf("]", middle - 1), line) + 1 : 0;
    const open = block.slice(from, middle).indexOf("[");
    if (open >= 0) {
      const start = from + open;
      const isPicture = block[start - 1] === "!";
      return block.slice(0, isPicture ? start - 1 : start) + block.slice(start + 1, middle);
    }
    middle = block.indexOf("](", middle + 1);
  }
  return block;
}

/** What stands behind the last white space. */
function lastWord(text: string): string {
  let start = text.length;
  while (start > 0 && !/\s/.test(text.charAt(start - 1))) start -= 1;
  return text.slice(start);
}

function isInFence(block: string): boolean {
  return (block.match(/^[ \t]*(?:`{3,}|~{3,})/gm) ?? []).length % 2 === 1;
}

function isTableWithoutRule(block: string): boolean {
  const lines = block.trimEnd().split("\n");
  if (!(lines[0] ?? "").trimStart().startsWith("|") || lines.length > 2) return false;
  return !(block.endsWith("\n") && lines.length === 2) && !TABLE_RULE.test(lines[1] ?? "");
}

/** With the marks that are open at the end closed. */
function closed(text: string): string {
  const last = text.slice(text.lastIndexOf("\n\n") + 1);
  if (count(last, /(?<!`)`(?!`)/g) % 2 === 1) return `${text}\``;
  const prose = last.replace(/`[^`\n]*`/g, "");
  const open = ["**", "~~"].filter((mark) => prose.split(mark).length % 2 === 0);
  const body = text.trimEnd();
  return open.reduce(
    (sofar, mark) => (sofar.endsWith(mark) ? sofar.slice(0, -mark.length) : sofar + mark),
    open.length > 0 ? body : text,
  );
}

function count(text: string, what: RegExp): number {
  return (text.match(what) ?? []).length;
}
