import { describe, expect, it } from "vitest";

import { MASK, newRow } from "./secrets";
import {
  createBody,
  emptyForm,
  formOf,
  problemsOf,
  updateBody,
  withExample,
  type KnownServer,
} from "./serverForm";

const AT_ADDRESS: KnownServer = {
  name: "orders",
  transport: "auto",
  url: "https://mcp.example.com/mcp?region=••••",
  headers: { Authorization: MASK },
  command: null,
  args: [],
  env: {},
  template: null,
  timeout: 30,
  call_timeout: 30,
  disabled: false,
};
const PROGRAM: KnownServer = {
  ...AT_ADDRESS,
  transport: "stdio",
  url: null,
  headers: {},
  command: "mcp-server-filesystem",
  args: ["/srv/my reports"],
  env: { TOKEN: MASK },
};
const FROM_TEMPLATE: KnownServer = { ...PROGRAM, template: "tpl_1" };
const TEMPLATE = {
  template_id: "tpl_1",
  name: "files",
  description: "",
  command: null,
  args: null,
  env: null,
  parameters: [
    { name: "folder", description: "", is_secret: false, is_required: true, pattern: null },
    { name: "token", description: "", is_secret: true, is_required: false, pattern: null },
  ],
};

describe("a new server", () => {
  it("at an address is sent with its protocol and headers", () => {
    const form = {
      ...emptyForm(),
      name: "orders",
      url: " https://mcp.example.com/mcp ",
      transport: "sse" as const,
      headers: [newRow("Authorization", "Bearer x"), newRow()],
      timeout: "12.5",
    };
    expect(problemsOf(form, undefined, null)).toEqual({});
    expect(createBody(form)).toEqual({
      name: "orders",
      transport: "sse",
      url: "https://mcp.example.com/mcp",
      headers: { Authorization: "Bearer x" },
      timeout: 12.5,
      disabled: false,
    });
  });

  it("that is a program is sent as command and args, not as a line", () => {
    const form = {
      ...emptyForm(),
      name: "files",
      way: "command" as const,
      commandLine: `mcp-server-filesystem "/srv/my reports" -v`,
      env: [newRow("TOKEN", "t")],
      url: "https://typed-before.example",
    };
    expect(createBody(form)).toEqual({
      name: "files",
      transport: "stdio",
      command: "mcp-server-filesystem",
      args: ["/srv/my reports", "-v"],
      env: { TOKEN: "t" },
      disabled: false,
    });
  });

  it("from a template is sent with the parameters that were filled in and nothing else", () => {
    const form = {
      ...emptyForm(),
      name: "mine",
      way: "template" as const,
      templateId: "tpl_1",
      parameters: { folder: "/srv/a", token: "" },
    };
    expect(problemsOf(form, TEMPLATE, null)).toEqual({});
    expect(createBody(form)).toEqual({
      name: "mine",
      template: "tpl_1",
      parameters: { folder: "/srv/a" },
      disabled: false,
    });
  });

  it.each([
    [{ name: "" }, { name: "needed", url: "needed" }],
    [
      { name: "-x", url: "ftp://a" },
      { name: "badName", url: "badUrl" },
    ],
    [
      { name: "a/b", url: "https://" },
      { name: "badName", url: "badUrl" },
    ],
    [{ name: "a", url: "https://a", timeout: "0" }, { timeout: "badSeconds" }],
    [{ name: "a", url: "https://a", callTimeout: "3601" }, { callTimeout: "badSeconds" }],
    [{ name: "a", url: "https://a", timeout: "soon" }, { timeout: "badSeconds" }],
    [{ name: "a", url: "https://a", headers: [newRow("", "v")] }, { headers: "badRows" }],
    [{ name: "a", way: "command" as const }, { commandLine: "needed" }],
    [{ name: "a", way: "command" as const, commandLine: "a 'b" }, { commandLine: "openQuote" }],
    [{ name: "a", way: "template" as const }, { template: "needed" }],
  ])("%j is refused where it is wrong", (typed, problems) => {
    expect(problemsOf({ ...emptyForm(), ...typed }, undefined, null)).toEqual(problems);
  });

  it("from a template misses its required parameters only", () => {
    const form = { ...emptyForm(), name: "a", way: "template" as const, templateId: "tpl_1" };
    expect(problemsOf(form, TEMPLATE, null)).toEqual({ template: "needed" });
  });
});

describe("a changed server", () => {
  it.each([AT_ADDRESS, PROGRAM, FROM_TEMPLATE])(
    "that is saved untouched changes nothing",
    (known) => {
      const form = formOf(known);
      expect(problemsOf(form, TEMPLATE, known)).toEqual({});
      expect(updateBody(form, known)).toEqual({});
    },
  );

  it("sends only what differs, so that secrets and a masked address stay", () => {
    const form = { ...formOf(AT_ADDRESS), callTimeout: "60", disabled: true };
    expect(updateBody(form, AT_ADDRESS)).toEqual({ call_timeout: 60, disabled: true });
  });

  it("sends all headers when one is added: the others as masks", () => {
    const known = formOf(AT_ADDRESS);
    const form = { ...known, headers: [...known.headers, newRow("X-Team", "sales")] };
    expect(updateBody(form, AT_ADDRESS)).toEqual({
      headers: { Authorization: MASK, "X-Team": "sales" },
    });
  });

  it("can lose all its headers", () => {
    expect(updateBody({ ...formOf(AT_ADDRESS), headers: [] }, AT_ADDRESS)).toEqual({ headers: {} });
  });

  it("that becomes a program is sent as one", () => {
    const form = { ...formOf(AT_ADDRESS), way: "command" as const, commandLine: "mcp-server-time" };
    expect(updateBody(form, AT_ADDRESS)).toEqual({
      transport: "stdio",
      command: "mcp-server-time",
      args: [],
      env: {},
    });
  });

  it("tells other arguments apart, also when they only look the same in one line", () => {
    const form = { ...formOf(PROGRAM), commandLine: "mcp-server-filesystem /srv/my reports" };
    expect(updateBody(form, PROGRAM)).toEqual({ args: ["/srv/my", "reports"] });
  });

  it("from a template is filled in anew as a whole", () => {
    const form = { ...formOf(FROM_TEMPLATE), parameters: { folder: "/srv/b" } };
    expect(updateBody(form, FROM_TEMPLATE)).toEqual({
      template: "tpl_1",
      parameters: { folder: "/srv/b" },
    });
    const halfFilled = { ...form, parameters: { token: "t" } };
    expect(problemsOf(halfFilled, TEMPLATE, FROM_TEMPLATE)).toEqual({ template: "needed" });
  });
});

describe("an example", () => {
  it.each(["streamableHttp", "sse"] as const)("%s lacks only the value of its header", (name) => {
    const form = withExample(emptyForm(), name);
    expect(problemsOf(form, undefined, null)).toEqual({ headers: "badRows" });
  });

  it("for a program can be sent as it is, and keeps the name that was typed", () => {
    const form = withExample({ ...emptyForm(), name: "mine" }, "stdio");
    expect(problemsOf(form, undefined, null)).toEqual({});
    expect(createBody(form)).toMatchObject({ name: "mine", command: "npx", transport: "stdio" });
  });
});
