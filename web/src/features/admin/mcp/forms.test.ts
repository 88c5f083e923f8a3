import { describe, expect, it } from "vitest";

import { MASK, newRow } from "@/features/mcp/secrets";

import { choicesOf, chosenOf, isSame, toolKey, toolsOf } from "./allowlist";
import { callQuery, hasFilters, NO_FILTERS } from "./callFilters";
import type { McpTool } from "./queries";
import {
  createSharedBody,
  emptySharedForm,
  sharedFormOf,
  sharedProblemsOf,
  updateSharedBody,
  type SharedServer,
} from "./sharedForm";
import {
  emptyTemplateForm,
  parametersOf,
  templateBody,
  templateFormOf,
  templateProblemsOf,
} from "./templateForm";

const SERVER: SharedServer = {
  server_id: "s1",
  name: "orders",
  scope: "global",
  transport: "streamable_http",
  command: null,
  args: [],
  env: {},
  url: "https://mcp.example.com/mcp",
  headers: { Authorization: MASK },
  template: null,
  timeout: 30,
  call_timeout: 30,
  disabled: false,
  has_credentials: false,
  status: "connected",
  status_detail: "ready",
  tools: [],
  alias: "orders",
  tenant_id: null,
  user_id: null,
  cwd: null,
  proxy_url: "http://proxy.example:3128/",
  session_scope: "shared",
  max_concurrency: 16,
  on_change: "quarantine",
  protocol_version: null,
  server_info: null,
  fail_count: 0,
  next_retry_at: null,
  last_ok_at: null,
};

describe("a shared server", () => {
  it("of a tenant is registered with all that was said of it", () => {
    const form = {
      ...emptySharedForm(),
      name: "orders",
      url: "https://mcp.example.com/mcp",
      scope: "tenant" as const,
      tenantId: "t1",
      alias: "ord",
      cwd: "/only/for/programs",
    };
    expect(sharedProblemsOf(form, null)).toEqual({});
    expect(createSharedBody(form)).toEqual({
      name: "orders",
      transport: "auto",
      url: "https://mcp.example.com/mcp",
      headers: {},
      disabled: false,
      alias: "ord",
      scope: "tenant",
      tenant_id: "t1",
      session_scope: "shared",
      max_concurrency: 16,
      on_change: "quarantine",
    });
  });

  it("for everyone names no tenant, also if one was chosen before", () => {
    const form = { ...emptySharedForm(), name: "a", url: "https://a", tenantId: "t1" };
    expect(createSharedBody(form)).not.toHaveProperty("tenant_id");
  });

  it("that is saved untouched changes nothing", () => {
    expect(updateSharedBody(sharedFormOf(SERVER), SERVER)).toEqual({});
  });

  it("sends what differs", () => {
    const form = {
      ...sharedFormOf(SERVER),
      alias: "ord",
      maxConcurrency: "4",
      onToolChange: "accept" as const,
      sessionScope: "user" as const,
      proxyUrl: "http://other.example:3128/",
    };
    expect(updateSharedBody(form, SERVER)).toEqual({
      alias: "ord",
      max_concurrency: 4,
      on_change: "accept",
      session_scope: "user",
      proxy_url: "http://other.example:3128/",
    });
  });

  it("takes a proxy and a folder away that were emptied", () => {
    const form = { ...sharedFormOf(SERVER), proxyUrl: " " };
    expect(sharedProblemsOf(form, SERVER)).toEqual({});
    expect(updateSharedBody(form, SERVER)).toEqual({ proxy_url: "" });
    const program = { ...SERVER, url: null, command: "node", cwd: "/srv", proxy_url: null };
    const emptied = { ...sharedFormOf(program), cwd: "" };
    expect(updateSharedBody(emptied, program)).toEqual({ cwd: "" });
    expect(updateSharedBody(sharedFormOf(program), program)).toEqual({});
  });

  it.each([
    [{ alias: "a__b" }, { alias: "badAlias" }],
    [{ maxConcurrency: "0" }, { maxConcurrency: "badNumber" }],
    [{ maxConcurrency: "1.5" }, { maxConcurrency: "badNumber" }],
    [{ scope: "tenant" as const }, { tenantId: "needed" }],
  ])("%j is refused where it is wrong", (typed, problems) => {
    const form = { ...emptySharedForm(), name: "a", url: "https://a", ...typed };
    expect(sharedProblemsOf(form, null)).toEqual(problems);
  });
});

describe("a template", () => {
  const form = {
    ...emptyTemplateForm(),
    name: "files",
    commandLine: "serve {folder} --tz={zone} {folder}",
    env: [newRow("TOKEN", "{token}")],
  };

  it("has a parameter for each place, once", () => {
    expect(parametersOf(form).map((each) => each.name)).toEqual(["folder", "zone", "token"]);
  });

  it("is sent with what was said of its parameters", () => {
    const token = {
      name: "token",
      description: "Key",
      is_secret: true,
      is_required: false,
      pattern: "",
    };
    const gone = { ...token, name: "gone" };
    const body = templateBody({ ...form, parameters: { token, gone } });
    expect(body).toMatchObject({
      command: "serve",
      args: ["{folder}", "--tz={zone}", "{folder}"],
      env: { TOKEN: "{token}" },
    });
    expect(body.parameters).toEqual([
      { name: "folder", description: "", is_secret: false, is_required: true, pattern: null },
      { name: "zone", description: "", is_secret: false, is_required: true, pattern: null },
      { ...token, pattern: null },
    ]);
  });

  it("is read back as it was sent", () => {
    const body = templateBody(form);
    const stored = {
      template_id: "t",
      name: body.name,
      description: body.description,
      command: body.command,
      args: body.args ?? [],
      env: body.env ?? {},
      parameters: parametersOf(form),
    };
    expect(templateBody(templateFormOf(stored))).toEqual(body);
  });

  it("keeps secrets out of arguments and places out of the program", () => {
    const folder = {
      name: "folder",
      description: "",
      is_secret: true,
      is_required: true,
      pattern: null,
    };
    expect(templateProblemsOf({ ...form, parameters: { folder } })).toEqual({
      parameters: "secretInArgs",
    });
    expect(templateProblemsOf({ ...form, commandLine: "{program} x" })).toEqual({
      commandLine: "placeInCommand",
    });
  });
});

describe("an allow-list", () => {
  const tool = (serverId: string, name: string, status: McpTool["status"] = "active"): McpTool => ({
    id: 1,
    server_id: serverId,
    name,
    exposed_name: name,
    title: null,
    description: "",
    input_schema: {},
    output_schema: null,
    annotations: {},
    schema_version: 1,
    definition_hash: "",
    status,
    enabled: true,
    retry_safe: false,
    timeout: null,
    asks_first: false,
    first_seen_at: null,
    last_seen_at: null,
  });
  const catalogue = [tool("s1", "get"), tool("s1", "old", "removed"), tool("u1", "own")];
  const get = { server_id: "s1", tool_name: "get" };

  it("that is null is no limit, and that is empty is nothing: they are never mixed up", () => {
    expect(toolsOf(chosenOf(null), catalogue)).toBeNull();
    expect(toolsOf(chosenOf([]), catalogue)).toEqual([]);
    expect(isSame(null, new Set())).toBe(false);
    expect(isSame(null, null)).toBe(true);
  });

  it("is sent as servers and names of tools", () => {
    expect(toolsOf(new Set([toolKey(get)]), catalogue)).toEqual([get]);
  });

  it("offers shared tools, and one that is gone only while it is listed", () => {
    const shared = new Set(["s1"]);
    const names = (listed: Parameters<typeof choicesOf>[2]) =>
      choicesOf(catalogue, shared, listed).map((each) => each.name);
    expect(names(null)).toEqual(["get"]);
    expect(names(chosenOf([{ server_id: "s1", tool_name: "old" }]))).toEqual(["get", "old"]);
  });
});

describe("filters of the call log", () => {
  it("that are empty are left out", () => {
    expect(callQuery(NO_FILTERS, 50)).toEqual({ limit: 50, offset: 50 });
    expect(hasFilters(NO_FILTERS)).toBe(false);
  });

  it("are sent by the server's names, times in UTC", () => {
    const local = "2026-03-01T09:30";
    const filters = { ...NO_FILTERS, status: "denied" as const, toolName: " get ", from: local };
    expect(callQuery(filters, 0)).toEqual({
      limit: 50,
      offset: 0,
      status: "denied",
      tool_name: "get",
      from: new Date(local).toISOString(),
    });
    expect(hasFilters(filters)).toBe(true);
  });
});
