/** A user's attributes ↔ the lines of a form. */

import type { Schemas } from "@/api/client";

export type Attributes = Schemas["AttributesInfo"]["attributes"];
type AttributeValue = Attributes[string];
export type AttributeKind = "text" | "number" | "yesNo" | "list";

export interface AttributeLine {
  name: string;
  kind: AttributeKind;
  /** As it is typed; a list has a value on each line. */
  text: string;
}

export type AttributeProblem = "noName" | "badName" | "sameName" | "noNumber" | "noYesNo";

const NAME = /^[A-Za-z_][A-Za-z0-9_]{0,63}$/;

export function linesOf(attributes: Attributes): AttributeLine[] {
  return Object.entries(attributes)
    .sort(([a], [b]) => a.localeCompare(b))
    .map(([name, value]) => ({ name, ...shownOf(value) }));
}

function shownOf(value: AttributeValue): { kind: AttributeKind; text: string } {
  if (Array.isArray(value)) return { kind: "list", text: value.map(itemText).join("\n") };
  if (typeof value === "number") return { kind: "number", text: String(value) };
  if (typeof value === "boolean") return { kind: "yesNo", text: String(value) };
  return { kind: "text", text: value };
}

/** Text that would be read as something else stands in quotes, so that it stays as it is. */
function itemText(item: string | number | boolean): string {
  if (typeof item !== "string") return String(item);
  const isPlain = item !== "" && !item.includes("\n") && itemOf(item) === item;
  return isPlain ? item : JSON.stringify(item);
}

function itemOf(text: string): string | number | boolean {
  const trimmed = text.trim();
  if (trimmed === "true" || trimmed === "false") return trimmed === "true";
  if (isNumber(trimmed)) return Number(trimmed);
  if (trimmed.startsWith('"')) return unquoted(trimmed);
  return trimmed;
}

function unquoted(text: string): string {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "string" ? value : text;
  } catch {
    return text;
  }
}

/** A number that loses nothing as one: `007` and an integer of 20 digits stay text. */
function isNumber(text: string): boolean {
  if (!/^-?(0|[1-9]\d*)(\.\d+)?(e[+-]?\d+)?$/i.test(text)) return false;
  const value = Number(text);
  if (!Number.isFinite(value)) return false;
  return Math.abs(value) <= Number.MAX_SAFE_INTEGER || String(value) === text;
}

export function problemOf(
  line: AttributeLine,
  all: readonly AttributeLine[],
): AttributeProblem | null {
  const name = line.name.trim();
  if (name === "") return "noName";
  if (!NAME.test(name)) return "badName";
  if (all.some((other) => other !== line && other.name.trim() === name)) return "sameName";
  if (line.kind === "number" && !isNumber(line.text.trim())) return "noNumber";
  if (line.kind === "yesNo" && !["true", "false"].includes(line.text)) return "noYesNo";
  return null;
}

/** The attributes that lines without problems stand for. */
export function attributesOf(lines: readonly AttributeLine[]): Attributes {
  return Object.fromEntries(lines.map((line) => [line.name.trim(), valueOf(line)]));
}

function valueOf({ kind, text }: AttributeLine): AttributeValue {
  switch (kind) {
    case "text":
      return text;
    case "number":
      return Number(text.trim());
    case "yesNo":
      return text === "true";
    case "list":
      return text
        .split("\n")
        .filter((item) => item.trim() !== "")
        .map(itemOf);
  }
}
