import fc from "fast-check";
import { describe, expect, it } from "vitest";

import { matching, mentionOf, replaced, sourceIn, splitSkill, tokenAt } from "./tokens";

describe("tokenAt", () => {
  it.each([
    ["/", 1, { kind: "skill", query: "", start: 0, end: 1 }],
    ["/rep", 4, { kind: "skill", query: "rep", start: 0, end: 4 }],
    ["@", 1, { kind: "mention", query: "", start: 0, end: 1 }],
    ["look at @sal", 12, { kind: "mention", query: "sal", start: 8, end: 12 }],
    ["请看@销售", 5, { kind: "mention", query: "销售", start: 2, end: 5 }],
    ["(@a and more", 3, { kind: "mention", query: "a", start: 1, end: 3 }],
  ])("%s at %d", (text, caret, token) => {
    expect(tokenAt(text, caret)).toEqual(token);
  });

  it.each([
    ["a question", 10],
    ["mail ann@example.org", 20],
    ["/report now", 11],
    ["and /report", 11],
    ["@sales and", 10],
    ["", 0],
  ])("none in %s at %d", (text, caret) => {
    expect(tokenAt(text, caret)).toBeNull();
  });
});

describe("replaced", () => {
  it("puts a name and a blank in the place of the token", () => {
    const text = "look at @sal";
    const token = { kind: "mention" as const, query: "sal", start: 8, end: 12 };
    expect(replaced(text, token, "@sales")).toEqual({ text: "look at @sales ", caret: 15 });
  });

  it("does not double a blank that is there", () => {
    const token = { kind: "mention" as const, query: "s", start: 0, end: 2 };
    expect(replaced("@s now", token, "@sales")).toEqual({ text: "@sales now", caret: 6 });
  });

  it("takes a skill out of the text with the blank after it", () => {
    const token = { kind: "skill" as const, query: "rep", start: 0, end: 4 };
    expect(replaced("/rep of today", token, "")).toEqual({ text: "of today", caret: 0 });
  });

  it("leaves everything outside the token as it is", () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (before, after) => {
        const text = `${before} @x${after}`;
        const start = before.length + 1;
        const token = { kind: "mention" as const, query: "x", start, end: start + 2 };
        const made = replaced(text, token, "@name");
        expect(made.text.startsWith(`${before} @name`)).toBe(true);
        expect(made.text.endsWith(after)).toBe(true);
      }),
    );
  });
});

describe("splitSkill", () => {
  it("reads a known skill at the beginning", () => {
    expect(splitSkill("/report of today", ["report"])).toEqual({
      skill: "report",
      text: "of today",
    });
    expect(splitSkill("/report", ["report"])).toEqual({ skill: "report", text: "" });
  });

  it("leaves a path and an unknown name alone", () => {
    expect(splitSkill("/usr/bin is what?", ["report"])).toEqual({
      skill: null,
      text: "/usr/bin is what?",
    });
    expect(splitSkill("see /report", ["report"]).skill).toBeNull();
  });
});

describe("matching", () => {
  const items = ["Monthly sales", "sales", "stock"].map((name) => ({ name }));

  it("finds what contains the query, what begins with it first", () => {
    expect(matching(items, "SAL").map((item) => item.name)).toEqual(["sales", "Monthly sales"]);
  });

  it("finds tables by their own name before those with it inside a word", () => {
    const tables = ["shop.Reinvoice", "shop.Invoice", "invoices"].map((name) => ({ name }));
    expect(matching(tables, "inv").map((item) => item.name)).toEqual([
      "invoices",
      "shop.Invoice",
      "shop.Reinvoice",
    ]);
  });

  it("gives all for an empty query, up to the limit", () => {
    expect(matching(items, "")).toHaveLength(3);
    expect(matching(items, "", 2)).toHaveLength(2);
  });
});

describe("tables", () => {
  it.each([
    ["orders", "shop.orders"],
    ["dbo.orders", "shop.dbo.orders"],
    ["订单", "shop.订单"],
    ["Order details", 'shop."Order details"'],
  ])("%s is named %s", (table, name) => {
    expect(mentionOf("shop", table)).toBe(name);
  });

  it("are those of the source before the dot", () => {
    const sources = [{ name: "shop" }, { name: "shop2" }];
    expect(sourceIn("Shop.or", sources)).toBe(sources[0]);
    expect(sourceIn("shop", sources)).toBeUndefined();
    expect(sourceIn("report.xlsx", sources)).toBeUndefined();
  });
});
