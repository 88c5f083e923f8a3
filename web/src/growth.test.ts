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
import { indentJson } from "@/features/chat/answer/values";
import { tokenAt } from "@/features/composer/tokens";

const SIZES = [1_000, 8_000, 64_000];
const LIMIT = 24; // between 8, linear, and 64, quadratic
const ROUNDS = 8;
const MARKS = "[ ] ( ) ! | - : * _ ~ ` # > 1 a . ]( [a](b [a](x www. http:// |: `` ~~";
const UNITS = [...MARKS.split(" "), " ", "\t", "\n", " [a](b", "- ", "** ", "| -"];
const ENDS = ["", "x", " x", ")", "\n", "]", "|", "`"];

type Reader = (text: string) => unknown;
type Family = (size: number) => string;

function repeated(start: string, unit: string, end: string): Family {
  return (size) => start + unit.repeat(Math.ceil(size / unit.length)) + end;
}

/** Microseconds of processor time that one run takes. */
function cost(read: Reader, text: string): number {
  const before = process.cpuUsage();
  read(text);
  const { user, system } = process.cpuUsage(before);
  return user + system;
}

/** Work that is too short to be compared counts as much as this. */
const COMPARABLE = Math.max(
  500,
  Math.min(
    ...Array.from({ length: 10 }, () =>
      cost((text) => text.replace(/\w+/g, "x"), "one two ".repeat(20_000)),
    ),
  ),
);

/**
 * How many times as long eight times the text takes at most.
 *
 * The two sizes are measured in turn, so that both meet the same state of compiler and heap; a
 * ratio over the limit is believed after some rounds, of which the least of each size counts:
 * whatever else the process does only adds to a run.
 */
function growth(read: Reader, family: Family): number {
  let worst = 0;
  for (const [at, size] of SIZES.slice(1).entries()) {
    const [small, large] = [family(SIZES[at] ?? size), family(size)];
    let [before, after] = [Infinity, Infinity];
    let ratio = Infinity;
    for (let round = 0; round < ROUNDS && ratio > LIMIT; round += 1) {
      before = Math.min(before, cost(read, small));
      after = Math.min(after, cost(read, large));
      ratio = Math.max(COMPARABLE, after) / Math.max(COMPARABLE, before);
    }
    worst = Math.max(worst, ratio);
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

test("a reader that looks for an end from every beginning is noticed", () => {
  const quadratic: Reader = (text) => text.match(/\{[^}]*\}/g);

  expect(growth(quadratic, (size) => "{".repeat(size / 6))).toBeGreaterThan(LIMIT);
});

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
