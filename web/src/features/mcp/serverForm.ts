/** The form of an MCP server ↔ what the server's API takes. Pure. */

import type { Schemas } from "@/api/client";

import { formatCommandLine, parseCommandLine } from "./commandLine";
import { hasChanged, mapOf, newRow, rowProblems, rowsOf, type SecretRow } from "./secrets";

export type Way = "url" | "command" | "template";
export type UrlTransport = "auto" | "streamable_http" | "sse";

export interface ServerForm {
  name: string;
  way: Way;
  transport: UrlTransport;
  url: string;
  headers: SecretRow[];
  commandLine: string;
  env: SecretRow[];
  templateId: string;
  parameters: Record<string, string>;
  timeout: string;
  callTimeout: string;
  disabled: boolean;
}

/** What the forms of own and shared servers have in common with what the server says. */
export type KnownServer = Pick<
  Schemas["MCPServerConfigResponse"],
  | "name"
  | "transport"
  | "url"
  | "headers"
  | "command"
  | "args"
  | "env"
  | "template"
  | "timeout"
  | "call_timeout"
  | "disabled"
>;

type ServerField =
  "name" | "url" | "headers" | "commandLine" | "env" | "template" | "timeout" | "callTimeout";
export type FormProblem = "needed" | "badName" | "badUrl" | "openQuote" | "badRows" | "badSeconds";
export type FormProblems = Partial<Record<ServerField, FormProblem>>;

const NAME = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/;
const MOST_SECONDS = 3600;

export function emptyForm(): ServerForm {
  return {
    name: "",
    way: "url",
    transport: "auto",
    url: "",
    headers: [],
    commandLine: "",
    env: [],
    templateId: "",
    parameters: {},
    timeout: "",
    callTimeout: "",
    disabled: false,
  };
}

export function formOf(server: KnownServer): ServerForm {
  const { command, transport } = server;
  return {
    name: server.name,
    way: server.template !== null ? "template" : command !== null ? "command" : "url",
    transport: transport === "stdio" ? "auto" : transport,
    url: server.url ?? "",
    headers: rowsOf(server.headers),
    commandLine: command === null ? "" : formatCommandLine({ command, args: server.args }),
    env: rowsOf(server.env),
    templateId: server.template ?? "",
    parameters: {},
    timeout: String(server.timeout),
    callTimeout: String(server.call_timeout),
    disabled: server.disabled,
  };
}

/** Whether the form, filled from `known`, still uses the template as it was filled in before. */
function keepsTemplate(form: ServerForm, known: KnownServer | null): boolean {
  const isSame = known?.template !== null && known?.template === form.templateId;
  return isSame && Object.values(form.parameters).every((value) => value === "");
}

export function problemsOf(
  form: ServerForm,
  template: Schemas["TemplateInfo"] | undefined,
  known: KnownServer | null,
): FormProblems {
  const problems: FormProblems = {};
  if (!NAME.test(form.name)) problems.name = form.name === "" ? "needed" : "badName";
  for (const field of ["timeout", "callTimeout"] as const)
    if (!isSeconds(form[field])) problems[field] = "badSeconds";
  const problem = wayProblems(form, template, known);
  return { ...problems, ...problem };
}

function wayProblems(
  form: ServerForm,
  template: Schemas["TemplateInfo"] | undefined,
  known: KnownServer | null,
): FormProblems {
  const problems: FormProblems = {};
  if (form.way === "url") {
    if (form.url.trim() === "") problems.url = "needed";
    else if (!/^https?:\/\/[^\s/]/i.test(form.url.trim())) problems.url = "badUrl";
    if (rowProblems(form.headers).size > 0) problems.headers = "badRows";
  } else if (form.way === "command") {
    const parsed = parseCommandLine(form.commandLine);
    if (parsed === "empty") problems.commandLine = "needed";
    else if (parsed === "openQuote") problems.commandLine = "openQuote";
    if (rowProblems(form.env).size > 0) problems.env = "badRows";
  } else if (!keepsTemplate(form, known)) {
    const isMissing = template?.parameters.some(
      (each) => each.is_required && (form.parameters[each.name] ?? "") === "",
    );
    if (isMissing !== false) problems.template = "needed";
  }
  return problems;
}

function isSeconds(text: string): boolean {
  if (text.trim() === "") return true;
  const value = Number(text);
  return value > 0 && value <= MOST_SECONDS;
}

type Body = Omit<Schemas["UserServerUpdate"], "name">;

function secondsOf(form: ServerForm): Body {
  const body: Body = {};
  if (form.timeout.trim() !== "") body.timeout = Number(form.timeout);
  if (form.callTimeout.trim() !== "") body.call_timeout = Number(form.callTimeout);
  return body;
}

function filledParameters(form: ServerForm): Record<string, string> {
  return Object.fromEntries(Object.entries(form.parameters).filter(([, value]) => value !== ""));
}

/** How the server is reached, all of it. Call it with a form without problems. */
function reached(form: ServerForm): Body {
  if (form.way === "url")
    return { transport: form.transport, url: form.url.trim(), headers: mapOf(form.headers) };
  if (form.way === "template")
    return { template: form.templateId, parameters: filledParameters(form) };
  const parsed = parseCommandLine(form.commandLine);
  const command = typeof parsed === "string" ? { command: "", args: [] } : parsed;
  return { transport: "stdio", ...command, env: mapOf(form.env) };
}

export function createBody(form: ServerForm): Schemas["MCPServerConfigRequest"] {
  return { name: form.name, ...reached(form), ...secondsOf(form), disabled: form.disabled };
}

/** Only what differs: what is left out stays, secrets too. */
export function updateBody(form: ServerForm, known: KnownServer): Body {
  const body = form.way === formOf(known).way ? changedReach(form, known) : reached(form);
  const seconds = secondsOf(form);
  if (seconds.timeout !== undefined && seconds.timeout !== known.timeout)
    body.timeout = seconds.timeout;
  if (seconds.call_timeout !== undefined && seconds.call_timeout !== known.call_timeout)
    body.call_timeout = seconds.call_timeout;
  if (form.disabled !== known.disabled) body.disabled = form.disabled;
  return body;
}

function changedReach(form: ServerForm, known: KnownServer): Body {
  if (form.way === "template") return keepsTemplate(form, known) ? {} : reached(form);
  const body: Body = {};
  if (form.way === "url") {
    if (form.url.trim() !== known.url) body.url = form.url.trim();
    if (form.transport !== known.transport) body.transport = form.transport;
    if (hasChanged(form.headers, known.headers)) body.headers = mapOf(form.headers);
    return body;
  }
  const parsed = parseCommandLine(form.commandLine);
  if (typeof parsed === "string") return body;
  if (parsed.command !== known.command) body.command = parsed.command;
  if (parsed.args.join("\0") !== known.args.join("\0") || parsed.args.length !== known.args.length)
    body.args = parsed.args;
  if (hasChanged(form.env, known.env)) body.env = mapOf(form.env);
  return body;
}

/** Filled-in examples, one per way to reach a server. */
export const EXAMPLES = {
  streamableHttp: {
    way: "url",
    transport: "streamable_http",
    url: "https://mcp.example.com/mcp",
    header: "Authorization",
  },
  sse: {
    way: "url",
    transport: "sse",
    url: "https://mcp.example.com/sse",
    header: "Authorization",
  },
  stdio: {
    way: "command",
    commandLine: "npx -y @modelcontextprotocol/server-filesystem /srv/reports",
  },
} as const;

export type ExampleName = keyof typeof EXAMPLES;

/** The form with an example in it; a name that was typed stays. */
export function withExample(form: ServerForm, example: ExampleName): ServerForm {
  const name = form.name === "" ? EXAMPLE_NAMES[example] : form.name;
  if (example === "stdio") return { ...form, ...EXAMPLES.stdio, name };
  const { header, ...rest } = EXAMPLES[example];
  return { ...form, ...rest, name, headers: [newRow(header)] };
}

const EXAMPLE_NAMES: Record<ExampleName, string> = {
  streamableHttp: "orders",
  sse: "search",
  stdio: "reports",
};
