/**
 * Text from models, files and tools is read in time that grows with its length.
 *
 * Processor time is measured for some text and for eight times as much: about eight times as long
 * is linear, sixty-four times quadratic. Only these ratios are judged, so no machine is too slow.
 */

import { expect, test } from "vitest";

import { splitBlocks } from "@/components/markdown/blocks";
import { settle } from "@/components/markdown/settle";
import { skillName } from "@/features/admin/skills/skillText";
import { indentJson } from "@/features/chat/answer/indentJson";
import { tokenAt } from "@/features/composer/tokens";

const SIZES = [1_000, 8_000, 64_000];
const LIMIT = 40;
const MARKS = "[ ] ( ) ! | - : * _ ~ ` # > 1 a . ]( [a](b [a](x www. http:// |: `` ~~";
const UNITS = [...MARKS.split(" "), " ", "\t", "\n", " [a](b", "- ", "** ", "| -"];
const ENDS = ["", "x", " x", ")", "\n", "]", "|", "`"];

type Reader = (text: string) => unknown;
type Family = (size: number) => string;

function repeated(start: string, unit: string, end: string): Family {
  return (size) => start + unit.repeat(Math.ceil(size / unit.length)) + end;
}

/** Microseconds of processor time, the least of some runs. */
function cost(read: Reader, text: string, runs: number): number {
  const costs = Array.from({ length: runs }, () => {
    const before = process.cpuUsage();
    read(text);
    const { user, system } = process.cpuUsage(before);
    return user + system;
  });
  return Math.min(...costs);
}

/** Work that is too short to be compared counts as much as this. */
const COMPARABLE = Math.max(
  500,
  cost((text) => text.replace(/\w+/g, "x"), "one two ".repeat(20_000), 10),
);

/** How many times as long eight times the text takes at most; measured again if it is too much. */
function growth(read: Reader, family: Family): number {
  let worst = 0;
  for (const [at, size] of SIZES.slice(1).entries()) {
    const ratio = (runs: number) =>
      Math.max(COMPARABLE, cost(read, family(size), runs)) /
      Math.max(COMPARABLE, cost(read, family(SIZES[at] ?? size), runs));
    let found = ratio(1);
    for (let again = 0; again < 4 && found > LIMIT; again += 1) found = Math.min(found, ratio(3));
    worst = Math.max(worst, found);
    if (worst > LIMIT) break;
  }
  return worst;
}

const families: [string, Family][] = UNITS.flatMap((unit) =>
  ENDS.map((end): [string, Family] => [JSON.stringify([unit, end]), repeated("", unit, end)]),
);
const READERS: [string, Reader, string[]][] = [
  ["settle", settle, ["", "a\n", "| a |\n", "| a |\n-"]],
  ["splitBlocks", splitBlocks, ["", "- "]],
  ["tokenAt", (text) => tokenAt(text, text.length), ["", " @"]],
  ["skillName", (text) => skillName(`---\n${text}\n---\n`), ["", "name:x", "---\n"]],
];

test.each(READERS)("%s takes time that grows with the text", (_name, read, starts) => {
  for (const start of starts)
    for (const [name, family] of families)
      expect(
        growth(read, (size) => start + family(size)),
        `${JSON.stringify(start)} then ${name}`,
      ).toBeLessThan(LIMIT);
});

test.each([
  ["arrays in arrays", (size: number) => "[".repeat(size / 2) + "]".repeat(size / 2)],
  ["texts", (size: number) => `[${'"a\\"",'.repeat(size / 6)}""]`],
])("indentJson takes time that grows with %s", (_name, family) => {
  expect(growth(indentJson, family)).toBeLessThan(LIMIT);
});
