/** A SKILL.md: which name it gives itself, or what is wrong with it. Pure. */

export const MOST_CHARACTERS = 65_536;
const HEADER = /^---[ \t]*\r?\n([\s\S]*?)^---[ \t]*$/m;
const NAME_LINE = /^name:(.*)$/m;
const NAME = /^[a-z0-9]+(-[a-z0-9]+)*$/;

export type SkillProblem = "noHeader" | "noName" | "badName" | "tooLong";

/** The name in the front matter, or what is wrong. The server looks at all the rest. */
export function skillName(text: string): { name: string } | SkillProblem {
  if (text.length > MOST_CHARACTERS) return "tooLong";
  const header = text.startsWith("---") ? HEADER.exec(text)?.[1] : undefined;
  if (header === undefined) return "noHeader";
  const name = unquoted((NAME_LINE.exec(header)?.[1] ?? "").trim());
  if (name === "") return "noName";
  return NAME.test(name) && name.length <= 64 ? { name } : "badName";
}

function unquoted(text: string): string {
  return /^(["']).*\1$/.test(text) ? text.slice(1, -1) : text;
}
