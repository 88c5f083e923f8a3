import { describe, expect, it } from "vitest";

import { mcpAdmin as en } from "@/i18n/en/mcpAdmin";
import { mcpAdmin as zh } from "@/i18n/zh/mcpAdmin";

import { skillName } from "./skillText";

describe("a SKILL.md", () => {
  it.each([
    ["---\nname: sql-review\ndescription: x\n---\ntext", "sql-review"],
    ["---\ndescription: x\nname: 'a-1'\n---\ntext", "a-1"],
    ['---\r\nname: "b"\r\n---\r\ntext', "b"],
  ])("%j names itself", (text, name) => {
    expect(skillName(text)).toEqual({ name });
  });

  it.each([
    ["# only text", "noHeader"],
    ["---\nname: a\nno end", "noHeader"],
    ["\n---\nname: a\n---\n", "noHeader"],
    ["---\ndescription: x\n---\nname: below\n", "noName"],
    ["---\nname: Big One\n---\n", "badName"],
    ["---\nname: a--b\n---\n", "badName"],
    [`---\nname: a\n---\n${"x".repeat(65_536)}`, "tooLong"],
  ])("%j is refused", (text, problem) => {
    expect(skillName(text)).toBe(problem);
  });

  it.each([en, zh])("that the editor begins with can be saved", (texts) => {
    expect(skillName(texts.skills.template)).toEqual({ name: "monthly-report" });
  });
});
