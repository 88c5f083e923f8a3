/**
 * A text cut where Markdown blocks end, so that a growing answer is parsed only at its end. Pure.
 *
 * Cutting too rarely is harmless, cutting inside a block is not: in doubt it does not cut.
 */

const FENCE = /^[ \t]*(?:(?:[-*+>]|\d{1,9}[.)])[ \t]+)*(`{3,}|~{3,})(.*)$/;
const LIST_ITEM = /^ {0,3}(?:[-*+]|\d{1,9}[.)])(?:[ \t]|$)/;
const DEFINITION = /^ {0,3}\[[^\]\n]+\]:/m;

/** The blocks of a text; joined, they are the text. */
export function splitBlocks(text: string): string[] {
  if (text === "") return [];
  if (DEFINITION.test(text)) return [text]; // what it defines may be used anywhere
  const cuts = cutsOf(text);
  return cuts.map((cut, at) => text.slice(cut, cuts[at + 1]));
}

/** Where blocks begin, in UTF-16 units. */
function cutsOf(text: string): number[] {
  const cuts = [0];
  let fence: string | null = null;
  let isAfterBlank = false;
  let isList = false;
  let at = 0;
  for (const line of text.split("\n")) {
    const isBlank = line.trim() === "";
    if (fence !== null) {
      if (closes(line, fence)) fence = null;
    } else if (isBlank) {
      isAfterBlank = true;
    } else {
      const isItem = LIST_ITEM.test(line);
      if (at === 0) isList = isItem;
      else if (isAfterBlank && !/^[ \t]/.test(line) && !(isList && isItem)) {
        cuts.push(at);
        isList = isItem;
      }
      isAfterBlank = false;
      fence = opened(line);
    }
    at += line.length + 1;
  }
  return cuts;
}

/** The marks of a code block that begins in this line. */
function opened(line: string): string | null {
  const match = FENCE.exec(line);
  const marks = match?.[1];
  if (marks === undefined) return null;
  return marks.startsWith("`") && (match?.[2] ?? "").includes("`") ? null : marks;
}

function closes(line: string, fence: string): boolean {
  const marks = line.trim();
  return marks.length >= fence.length && marks === (fence[0] ?? "").repeat(marks.length);
}
