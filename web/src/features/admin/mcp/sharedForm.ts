/**
 * The form of a shared server ↔ what the registry takes. What it shares with own servers is
 * `mcp`'s. Pure.
 */

import type { Schemas } from "@/api/client";
import {
  createBody,
  emptyForm,
  formOf,
  problemsOf,
  updateBody,
  type FormProblems,
  type ServerForm,
} from "@/features/mcp/serverForm";

export type SharedServer = Schemas["SharedServerInfo"];
type SessionScope = SharedServer["session_scope"];
type OnChange = SharedServer["on_change"];

export interface SharedForm extends ServerForm {
  alias: string;
  scope: "global" | "tenant";
  tenantId: string;
  /** A folder belongs to a program, a proxy to an address. */
  cwd: string;
  proxyUrl: string;
  sessionScope: SessionScope;
  maxConcurrency: string;
  onToolChange: OnChange;
}

type SharedProblem = "badAlias" | "needed" | "badNumber";
export interface SharedProblems extends FormProblems {
  alias?: SharedProblem;
  tenantId?: SharedProblem;
  maxConcurrency?: SharedProblem;
}

const ALIAS = /^(?!.*__)[A-Za-z0-9_-]{1,32}$/;
const MOST_AT_ONCE = 256;

export function emptySharedForm(): SharedForm {
  return {
    ...emptyForm(),
    alias: "",
    scope: "global",
    tenantId: "",
    cwd: "",
    proxyUrl: "",
    sessionScope: "shared",
    maxConcurrency: "16",
    onToolChange: "quarantine",
  };
}

export function sharedFormOf(server: SharedServer): SharedForm {
  const form = formOf(server);
  return {
    ...form,
    way: form.way === "template" ? "command" : form.way,
    alias: server.alias,
    scope: server.scope === "tenant" ? "tenant" : "global",
    tenantId: server.tenant_id ?? "",
    cwd: server.cwd ?? "",
    proxyUrl: server.proxy_url ?? "",
    sessionScope: server.session_scope,
    maxConcurrency: String(server.max_concurrency),
    onToolChange: server.on_change,
  };
}

export function sharedProblemsOf(form: SharedForm, known: SharedServer | null): SharedProblems {
  const problems: SharedProblems = problemsOf(form, undefined, known);
  if (form.alias !== "" && !ALIAS.test(form.alias)) problems.alias = "badAlias";
  if (known === null && form.scope === "tenant" && form.tenantId === "")
    problems.tenantId = "needed";
  const most = Number(form.maxConcurrency);
  if (!Number.isInteger(most) || most < 1 || most > MOST_AT_ONCE)
    problems.maxConcurrency = "badNumber";
  return problems;
}

export function createSharedBody(form: SharedForm): Schemas["SharedServerCreate"] {
  return {
    ...createBody(form),
    ...(form.way === "command"
      ? form.cwd.trim() !== "" && { cwd: form.cwd.trim() }
      : form.proxyUrl.trim() !== "" && { proxy_url: form.proxyUrl.trim() }),
    ...(form.alias !== "" && { alias: form.alias }),
    scope: form.scope,
    ...(form.scope === "tenant" && { tenant_id: form.tenantId }),
    session_scope: form.sessionScope,
    max_concurrency: Number(form.maxConcurrency),
    on_change: form.onToolChange,
  };
}

/** Only what differs: what is left out stays, an empty text takes away. */
export function updateSharedBody(
  form: SharedForm,
  known: SharedServer,
): Schemas["SharedServerUpdate"] {
  const body: Schemas["SharedServerUpdate"] = updateBody(form, known);
  const [cwd, proxyUrl] = [form.cwd.trim(), form.proxyUrl.trim()];
  if (form.way === "command" && cwd !== (known.cwd ?? "")) body.cwd = cwd;
  if (form.way === "url" && proxyUrl !== (known.proxy_url ?? "")) body.proxy_url = proxyUrl;
  if (form.alias !== "" && form.alias !== known.alias) body.alias = form.alias;
  if (form.sessionScope !== known.session_scope) body.session_scope = form.sessionScope;
  const most = Number(form.maxConcurrency);
  if (most !== known.max_concurrency) body.max_concurrency = most;
  if (form.onToolChange !== known.on_change) body.on_change = form.onToolChange;
  return body;
}
