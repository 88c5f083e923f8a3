import { describe, expect, it } from "vitest";

import { settle } from "./settle";

describe("settle", () => {
  it.each([
    ["This is **bo", "This is **bo**"],
    ["This is **", "This is "],
    ["~~gone", "~~gone~~"],
    ["run `SELECT", "run `SELECT`"],
    ["`a**b` and **c", "`a**b` and **c**"],
    ["see [the docs](https://exam", "see the docs"],
    ["![a chart](http", "a chart"],
    ["text\n-", "text"],
    ["text\n==", "text"],
    ["- one\n- ", "- one"],
    ["| a | b", ""],
    ["| a | b |\n|", ""],
    ["| a | b |\n| - | - |\n| 1", "| a | b |\n| - | - |\n| 1"],
    ["```sql\nSELECT **", "```sql\nSELECT **"],
    ["whole text.", "whole text."],
    ["**whole** `text`", "**whole** `text`"],
  ])("shows %j as %j", (block, shown) => {
    expect(settle(block).trimEnd()).toBe(shown.trimEnd());
  });
});
