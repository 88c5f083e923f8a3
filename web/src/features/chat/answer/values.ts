/** Arguments and results of tools as they are shown. Pure. */

import type { Json, JsonObject } from "@/events/types";
import { own } from "@/lib/own";

interface ShownValue {
  text: string;
  language: string;
}

/** A result: JSON is laid out, also when it comes as text; other text stays as it is. */
export function shownResult(result: Json): ShownValue {
  if (typeof result !== "string") return laidOut(result);
  const trimmed = result.trim();
  if (!/^[[{]/.test(trimmed)) return { text: result, language: "" };
  try {
    JSON.parse(trimmed);
    return { text: indentJson(trimmed), language: "json" };
  } catch {
    return { text: result, language: "" };
  }
}

function laidOut(value: Json): ShownValue {
  return { text: JSON.stringify(value, null, 2), language: "json" };
}

interface CodeArgument {
  name: string;
  code: string;
  language: string;
}

/** Which arguments are code, and of which language, whatever the tool. */
const CODE: Readonly<Record<string, string>> = {
  sql: "sql",
  query_sql: "sql",
  code: "python",
  python: "python",
  command: "bash",
  script: "bash",
};

const CODE_OF_TOOL: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  sql_db_query: { query: "sql" },
  sql_db_query_checker: { query: "sql" },
  query_artifact: { query: "sql" },
};

interface ShownArguments {
  code: CodeArgument[];
  /** Texts of several lines, such as a file's content. */
  texts: { name: string; text: string }[];
  /** The rest, on one line each. */
  plain: { name: string; text: string }[];
}

/** A call's arguments, code apart from the rest; what was left empty is left out. */
export function shownArguments(tool: string, args: JsonObject): ShownArguments {
  const shown: ShownArguments = { code: [], texts: [], plain: [] };
  for (const [name, value] of Object.entries(args)) {
    if (value === null || value === "" || (Array.isArray(value) && value.length === 0)) continue;
    const language = own(own(CODE_OF_TOOL, tool) ?? {}, name) ?? own(CODE, name);
    if (typeof value !== "string") {
      const text = JSON.stringify(value, null, 2);
      if (text.includes("\n") && text.length > 80)
        shown.code.push({ name, code: text, language: "json" });
      else shown.plain.push({ name, text: JSON.stringify(value) });
    } else if (language !== undefined) {
      shown.code.push({ name, code: value, language });
    } else if (value.includes("\n") || value.length > 200) {
      shown.texts.push({ name, text: value });
    } else {
      shown.plain.push({ name, text: value });
    }
  }
  return shown;
}

const TELLING = [
  "title",
  "description",
  "file_path",
  "path",
  "url",
  "query",
  "pattern",
  "command",
  "name",
];

/** A few words that tell one call of a tool from another. */
export function callSummary(args: JsonObject): string {
  for (const name of TELLING) {
    const value = args[name];
    if (typeof value === "string" && value.trim() !== "") return firstLine(value);
  }
  const sql = args["sql"];
  return typeof sql === "string" ? firstLine(sql) : "";
}

function firstLine(text: string): string {
  return text.trim().split("\n")[0] ?? "";
}

/** The SQL of a call, if it has some. */
export function sqlOf(tool: string, args: JsonObject): string | null {
  const found = shownArguments(tool, args).code.find((each) => each.language === "sql");
  return found?.code ?? null;
}

/** A text cut to what can be taken in at once. */
export function cut(text: string, lines: number, characters: number): string {
  const few = text
    .split("\n", lines + 1)
    .slice(0, lines)
    .join("\n");
  return few.length > characters ? few.slice(0, characters) : few;
}

const DEEPEST = 50; // levels; what lies deeper is not moved further to the right
const TOKEN = /"(?:[^"\\]|\\.)*"|[[\]{},:]|[^\s[\]{},:"]+/g;

/**
 * The end of a line and the spaces of the next, by depth: made once, a deep text has many lines.
 */
const LINES = Array.from({ length: DEEPEST + 1 }, (_, depth) => `\n${"  ".repeat(depth)}`);

/** Valid JSON with a line for each value. */
export function indentJson(json: string): string {
  const tokens = json.match(TOKEN) ?? [];
  const out: string[] = [];
  let depth = 0;
  const line = () => LINES[Math.min(depth, DEEPEST)] ?? "\n";
  tokens.forEach((token, at) => {
    if (token === "{" || token === "[") {
      depth += 1;
      const isEmpty = tokens[at + 1] === "}" || tokens[at + 1] === "]";
      out.push(token, isEmpty ? "" : line());
    } else if (token === "}" || token === "]") {
      depth -= 1;
      const isEmpty = tokens[at - 1] === "{" || tokens[at - 1] === "[";
      out.push(isEmpty ? "" : line(), token);
    } else if (token === ",") {
      out.push(token, line());
    } else {
      out.push(token === ":" ? ": " : token);
    }
  });
  return out.join("");
}
