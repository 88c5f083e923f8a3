/**
 * The form of a template ↔ what the server takes. Its parameters are the places in its text. Pure.
 */

import type { Schemas } from "@/api/client";
import { formatCommandLine, parseCommandLine } from "@/features/mcp/commandLine";
import type { Template } from "@/features/mcp/queries";
import { mapOf, newRow, rowProblems, type SecretRow } from "@/features/mcp/secrets";

export type Parameter = Schemas["ParameterInfo"];

export interface TemplateForm {
  name: string;
  description: string;
  commandLine: string;
  env: SecretRow[];
  /** What was said of parameters, by name; also of places that are gone again. */
  parameters: Record<string, Parameter>;
}

export type TemplateProblem =
  "needed" | "badName" | "openQuote" | "badRows" | "placeInCommand" | "secretInArgs";
export type TemplateProblems = Partial<
  Record<"name" | "commandLine" | "env" | "parameters", TemplateProblem>
>;

const NAME = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/;
const PLACE = /\{([A-Za-z_][A-Za-z0-9_]{0,63})\}/g;

export function emptyTemplateForm(): TemplateForm {
  return { name: "", description: "", commandLine: "", env: [], parameters: {} };
}

export function templateFormOf(template: Template): TemplateForm {
  const command = template.command ?? "";
  return {
    name: template.name,
    description: template.description,
    commandLine: formatCommandLine({ command, args: template.args ?? [] }),
    env: Object.entries(template.env ?? {}).map(([name, value]) => newRow(name, value)),
    parameters: Object.fromEntries(template.parameters.map((each) => [each.name, each])),
  };
}

function placesIn(text: string): string[] {
  return [...text.matchAll(PLACE)].flatMap((found) => found[1] ?? []);
}

/** The parameters that have a place now, in the order of their places. */
export function parametersOf(form: TemplateForm): Parameter[] {
  const texts = [form.commandLine, ...form.env.map((row) => row.value)];
  return [...new Set(texts.flatMap(placesIn))].map((name) => form.parameters[name] ?? fresh(name));
}

function fresh(name: string): Parameter {
  return { name, description: "", is_secret: false, is_required: true, pattern: null };
}

export function templateProblemsOf(form: TemplateForm): TemplateProblems {
  const problems: TemplateProblems = {};
  if (!NAME.test(form.name)) problems.name = form.name === "" ? "needed" : "badName";
  if (rowProblems(form.env).size > 0) problems.env = "badRows";
  const parsed = parseCommandLine(form.commandLine);
  if (typeof parsed === "string") {
    problems.commandLine = parsed === "empty" ? "needed" : "openQuote";
    return problems;
  }
  if (placesIn(parsed.command).length > 0) problems.commandLine = "placeInCommand";
  const inArgs = new Set(parsed.args.flatMap(placesIn));
  if (parametersOf(form).some((each) => each.is_secret && inArgs.has(each.name)))
    problems.parameters = "secretInArgs";
  return problems;
}

/** Call it with a form without problems. */
export function templateBody(form: TemplateForm): Schemas["TemplateBody"] {
  const parsed = parseCommandLine(form.commandLine);
  const command = typeof parsed === "string" ? { command: "", args: [] } : parsed;
  return {
    name: form.name,
    description: form.description.trim(),
    ...command,
    env: mapOf(form.env),
    parameters: parametersOf(form).map((each) => ({
      ...each,
      pattern: each.pattern === null || each.pattern === "" ? null : each.pattern,
    })),
  };
}
