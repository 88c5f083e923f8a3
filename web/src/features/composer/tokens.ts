/**
 * What is being picked while someone types: a skill after `/`, a thing to mention after `@`. Pure.
 */

export interface Token {
  kind: "skill" | "mention";
  query: string;
  start: number;
  end: number;
}

// No letter, digit or address character before it: `a@b.c` is a mail address. Chinese needs no
// blank.
const MENTION = /(?:^|[^A-Za-z0-9._%+-])@([^\s@]*)$/;
const SKILL = /^\/(\S*)$/;

/** The token that the caret stands at the end of. */
export function tokenAt(text: string, caret: number): Token | null {
  const before = text.slice(0, caret);
  const skill = SKILL.exec(before)?.[1];
  if (skill !== undefined) return { kind: "skill", query: skill, start: 0, end: caret };
  const mention = MENTION.exec(before)?.[1];
  if (mention === undefined) return null;
  return { kind: "mention", query: mention, start: caret - mention.length - 1, end: caret };
}

/** The text with a token replaced, and where the caret stands then. */
export function replaced(text: string, token: Token, by: string): { text: string; caret: number } {
  const rest = text.slice(token.end);
  const isSpaced = by === "" || /^\s/.test(rest);
  const inserted = isSpaced ? by : `${by} `;
  const tail = by === "" ? rest.replace(/^\s+/, "") : rest;
  return {
    text: text.slice(0, token.start) + inserted + tail,
    caret: token.start + inserted.length,
  };
}

/** `/name question`, typed without picking: the skill and the question. */
export function splitSkill(
  text: string,
  skills: readonly string[],
): { skill: string | null; text: string } {
  const name = /^\/(\S+)(?:\s+|$)/.exec(text)?.[1];
  if (name === undefined || !skills.includes(name)) return { skill: null, text };
  return { skill: name, text: text.slice(name.length + 1).trimStart() };
}

/** A table as it is named after `@`; quoted where its end would not be seen. */
export function mentionOf(source: string, table: string): string {
  return `${source}.${/^[\p{L}\p{N}_$.-]+$/u.test(table) ? table : `"${table}"`}`;
}

/** The source whose tables are being picked: it stands before a dot. */
export function sourceIn<Item extends { name: string }>(
  query: string,
  sources: readonly Item[],
): Item | undefined {
  const name = query.slice(0, Math.max(0, query.indexOf("."))).toLowerCase();
  return sources.find((source) => source.name.toLowerCase() === name);
}

/** What fits the query: what begins with it first, then what has a part that does. */
export function matching<Item extends { name: string }>(
  items: readonly Item[],
  query: string,
  limit = 8,
): Item[] {
  const sought = query.toLowerCase();
  const rank = ({ name }: Item) => {
    const at = name.toLowerCase().indexOf(sought);
    return at <= 0 ? at : /[\p{L}\p{N}]/u.test(name.charAt(at - 1)) ? 2 : 1;
  };
  const found = items.filter((item) => rank(item) >= 0);
  return found.toSorted((one, other) => rank(one) - rank(other)).slice(0, limit);
}
