/**
 * The last block of a text that is still being written, without what is not yet certain: so marks
 * that are only half there do not show and vanish again. Pure; for display only.
 */

const OPEN_LINK = /!?\[([^\]\n]*)\]\([^)\n]*$/;
const OPEN_ADDRESS = /(?:https?:\/\/|www\.)[^\s]*$/i;
const BARE_MARK = /\n[ \t]*(?:[-=*_]{1,}|#{1,6}|[-*+]|\d{1,9}[.)]|>|`{1,2}|~{1,2})[ \t]*$/;
const TABLE_RULE = /^\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*$/;

/** The block as it can be shown now. */
export function settle(block: string): string {
  if (isInFence(block)) return block;
  if (isTableWithoutRule(block)) return "";
  const certain = block.replace(BARE_MARK, "").replace(OPEN_LINK, "$1");
  if (OPEN_ADDRESS.test(certain)) return certain;
  return closed(certain);
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
