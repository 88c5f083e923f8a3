/**
 * The arguments of a call as a form, and the form back as arguments. Pure.
 *
 * Simple fields (text, numbers, yes/no, choices) become controls; whatever else a schema can say is
 * edited as JSON. The schema may be a stranger's: only what has the expected shape is believed.
 */

import type { Json, JsonObject } from "@/events/types";
import { own } from "@/lib/own";

type FieldKind =
  "text" | "longText" | "number" | "integer" | "yesNo" | "choice" | "choices" | "json";

export interface FormField {
  name: string;
  label: string;
  description: string;
  kind: FieldKind;
  isRequired: boolean;
  options: string[];
  inputType: "text" | "email" | "url" | "date";
  minimum: number | null;
  maximum: number | null;
  minLength: number | null;
  maxLength: number | null;
}

export type FormValue = string | boolean | string[];
export type FormValues = Record<string, FormValue>;
export type FieldProblem =
  | "required"
  | "notNumber"
  | "notInteger"
  | "tooSmall"
  | "tooLarge"
  | "tooShort"
  | "tooLong"
  | "notJson";

type ReadForm =
  { args: JsonObject; problems: null } | { args: null; problems: Record<string, FieldProblem> };

const INPUT_TYPES: Readonly<Record<string, FormField["inputType"]>> = {
  email: "email",
  uri: "url",
  date: "date",
};

/** The fields of a call: those of its schema, then arguments that the schema does not name. */
export function formFields(schema: JsonObject | null | undefined, args: JsonObject): FormField[] {
  const properties = objectOf(schema?.["properties"]);
  const required = new Set(Array.isArray(schema?.["required"]) ? schema["required"] : []);
  const extra = Object.keys(args).filter((name) => !Object.hasOwn(properties, name));
  return [
    ...Object.keys(properties).map((name) =>
      fieldOf(name, objectOf(own(properties, name)), own(args, name), required.has(name)),
    ),
    ...extra.map((name) => fieldOf(name, { type: typeName(args[name]) }, args[name], false)),
  ];
}

function fieldOf(
  name: string,
  asked: JsonObject,
  value: Json | undefined,
  isRequired: boolean,
): FormField {
  const schema = withoutNull(asked);
  const options = optionsOf(schema["type"] === "array" ? objectOf(schema["items"]) : schema);
  return {
    name,
    label: textOf(schema["title"]) ?? name,
    description: textOf(asked["description"]) ?? textOf(schema["description"]) ?? "",
    kind: kindOf(schema, options, value),
    isRequired,
    options,
    inputType: own(INPUT_TYPES, textOf(schema["format"]) ?? "") ?? "text",
    minimum: numberOf(schema["minimum"]),
    maximum: numberOf(schema["maximum"]),
    minLength: numberOf(schema["minLength"]),
    maxLength: numberOf(schema["maxLength"]),
  };
}

/** `anyOf: [X, null]`, as optional arguments are written, is X. */
function withoutNull(schema: JsonObject): JsonObject {
  const any = schema["anyOf"];
  if (!Array.isArray(any)) return schema;
  const real = any.map(objectOf).filter((each) => each["type"] !== "null");
  return real.length === 1 && real[0] ? { ...schema, ...real[0] } : schema;
}

function kindOf(schema: JsonObject, options: string[], value: Json | undefined): FieldKind {
  const isGiven = value !== undefined && value !== null;
  switch (schema["type"]) {
    case "string":
      if (isGiven && typeof value !== "string") return "json";
      if (options.length > 0) return !isGiven || options.includes(value) ? "choice" : "text";
      return typeof value === "string" && (value.includes("\n") || value.length > 80)
        ? "longText"
        : "text";
    case "number":
    case "integer":
      return isGiven && typeof value !== "number" ? "json" : schema["type"];
    case "boolean":
      return isGiven && typeof value !== "boolean" ? "json" : "yesNo";
    case "array":
      return options.length > 0 ? "choices" : "json";
    default:
      return "json";
  }
}

function optionsOf(schema: JsonObject): string[] {
  const listed = schema["enum"];
  return Array.isArray(listed) && listed.every((each) => typeof each === "string") ? listed : [];
}

/** What the form shows at first. */
export function initialValues(fields: readonly FormField[], args: JsonObject): FormValues {
  return Object.fromEntries(
    fields.map((field) => [field.name, shown(field, own(args, field.name))]),
  );
}

function shown(field: FormField, value: Json | undefined): FormValue {
  if (field.kind === "yesNo") return value === true;
  if (field.kind === "choices") return Array.isArray(value) ? value.map(String) : [];
  if (value === undefined || value === null) return "";
  if (field.kind === "json") return JSON.stringify(value, null, 2);
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** The arguments a filled-in form stands for, or what is wrong with it. */
export function readForm(
  fields: readonly FormField[],
  values: FormValues,
  before: JsonObject,
): ReadForm {
  const args: JsonObject = {};
  const problems: Record<string, FieldProblem> = {};
  for (const field of fields) {
    const { name } = field;
    const given = own(before, name);
    const value = own(values, name) ?? "";
    if (given !== undefined && isSame(shown(field, given), value)) {
      args[name] = given; // as it was, also where the form could not say it: null, ""
      continue;
    }
    const read = readField(field, value);
    if ("problem" in read) problems[name] = read.problem;
    else if (read.value !== undefined) args[name] = read.value;
  }
  return Object.keys(problems).length > 0 ? { args: null, problems } : { args, problems: null };
}

function isSame(before: FormValue, after: FormValue): boolean {
  return JSON.stringify(before) === JSON.stringify(after);
}

type ReadField = { value: Json | undefined } | { problem: FieldProblem };

function readField(field: FormField, value: FormValue): ReadField {
  if (typeof value === "boolean") return { value };
  if (Array.isArray(value)) {
    return field.isRequired && value.length === 0 ? { problem: "required" } : { value };
  }
  const isText = field.kind === "text" || field.kind === "longText" || field.kind === "choice";
  if (value.trim() === "" && !(isText && value !== "")) {
    return field.isRequired ? { problem: "required" } : { value: undefined };
  }
  if (field.kind === "json") return readJson(value);
  return isText ? readText(field, value) : readNumber(field, value);
}

function readText(field: FormField, value: string): ReadField {
  const length = Array.from(value).length;
  if (field.minLength !== null && length < field.minLength) return { problem: "tooShort" };
  if (field.maxLength !== null && length > field.maxLength) return { problem: "tooLong" };
  return { value };
}

function readNumber(field: FormField, text: string): ReadField {
  const value = Number(text.trim());
  if (!Number.isFinite(value)) return { problem: "notNumber" };
  if (field.kind === "integer" && !Number.isInteger(value)) return { problem: "notInteger" };
  if (field.minimum !== null && value < field.minimum) return { problem: "tooSmall" };
  if (field.maximum !== null && value > field.maximum) return { problem: "tooLarge" };
  return { value };
}

function readJson(text: string): ReadField {
  try {
    return { value: JSON.parse(text) as Json };
  } catch {
    return { problem: "notJson" };
  }
}

function typeName(value: Json | undefined): string {
  if (typeof value === "string" || typeof value === "number" || typeof value === "boolean") {
    return typeof value;
  }
  return "object";
}

function objectOf(value: Json | undefined): JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? value : {};
}

function textOf(value: Json | undefined): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}

function numberOf(value: Json | undefined): number | null {
  return typeof value === "number" ? value : null;
}
