import { describe, expect, it } from "vitest";

import { callSummary, cut, shownArguments, shownResult, sqlOf } from "./values";

describe("shownResult", () => {
  it("lays out JSON, also when it comes as text", () => {
    expect(shownResult('{"a":[1,2]}')).toEqual({
      text: '{\n  "a": [\n    1,\n    2\n  ]\n}',
      language: "json",
    });
  });

  it.each(["plain", "[not json", "{"])("leaves other text as it is: %s", (text) => {
    expect(shownResult(text)).toEqual({ text, language: "" });
  });

  it("never changes a number that a script cannot hold", () => {
    expect(shownResult('{"id":12345678901234567890}').text).toContain("12345678901234567890");
    expect(shownResult('{"price":1.10}').text).toContain("1.10");
  });
});

describe("shownArguments", () => {
  it("tells code, long texts and the rest apart, and leaves out what is empty", () => {
    const shown = shownArguments("any", {
      sql: "SELECT 1",
      code: "print(1)",
      content: "a\nb",
      limit: 5,
      source: null,
      tables: [],
    });
    expect(shown.code.map(({ name, language }) => [name, language])).toEqual([
      ["sql", "sql"],
      ["code", "python"],
    ]);
    expect(shown.texts).toEqual([{ name: "content", text: "a\nb" }]);
    expect(shown.plain).toEqual([{ name: "limit", text: "5" }]);
  });

  it("is not misled by arguments that are named like what every object has", () => {
    const shown = shownArguments("toString", { constructor: "x", valueOf: 1 });
    expect(shown.plain.map(({ name }) => name)).toEqual(["constructor", "valueOf"]);
    expect(shown.code).toEqual([]);
  });

  it("takes `query` for SQL where a tool means that, and for words elsewhere", () => {
    expect(sqlOf("sql_db_query", { query: "SELECT 1" })).toBe("SELECT 1");
    expect(sqlOf("web_search", { query: "weather" })).toBeNull();
  });
});

describe("callSummary", () => {
  it("takes the words that tell calls apart", () => {
    expect(callSummary({ sql: "SELECT 1", title: "One" })).toBe("One");
    expect(callSummary({ file_path: "/a.txt", content: "x" })).toBe("/a.txt");
    expect(callSummary({ sql: "SELECT\n1" })).toBe("SELECT");
    expect(callSummary({ n: 1 })).toBe("");
  });
});

describe("cut", () => {
  it("keeps so many lines and characters at most", () => {
    expect(cut("a\nb\nc", 2, 100)).toBe("a\nb");
    expect(cut("abcdef", 2, 3)).toBe("abc");
    expect(cut("a\nb", 2, 100)).toBe("a\nb");
  });
});
