import { describe, expect, it } from "vitest";

import { bodyOf, tenantFormOf, NEW_TENANT, switchesOf, turned, type Tenant } from "./tenantForm";

const TENANT: Tenant = {
  tenant_id: "acme",
  name: "Acme",
  max_users: 50,
  max_sessions_per_user: null,
  max_mcp_servers: 0,
  workspace_quota: 1_500_000,
  features_enabled: { mcp: false, "tool:shell": false, "agent:sql": true },
  created_at: "2026-01-01T00:00:00.000Z",
  updated_at: "2026-01-01T00:00:00.000Z",
};

describe("a tenant's form", () => {
  it("shows what the tenant has and sends it back unchanged", () => {
    const form = tenantFormOf(TENANT);
    expect(form).toEqual({
      tenantId: "acme",
      name: "Acme",
      max_users: "50",
      max_sessions_per_user: "",
      max_mcp_servers: "0",
      quota: "1.5",
      off: ["mcp", "tool:shell"],
    });
    expect(bodyOf(form)).toEqual({
      name: "Acme",
      max_users: 50,
      max_sessions_per_user: null,
      max_mcp_servers: 0,
      workspace_quota: 1_500_000,
      features_enabled: { mcp: false, "tool:shell": false },
    });
  });

  it("keeps a quota to the byte", () => {
    const odd = { ...TENANT, workspace_quota: 1_073_741_823 };
    expect(bodyOf(tenantFormOf(odd)).workspace_quota).toBe(1_073_741_823);
  });

  it("limits nothing when nothing is typed", () => {
    expect(bodyOf({ ...NEW_TENANT, name: " Acme " })).toEqual({
      name: "Acme",
      max_users: null,
      max_sessions_per_user: null,
      max_mcp_servers: null,
      workspace_quota: null,
      features_enabled: {},
    });
  });

  it("turns a switch off and on again", () => {
    const off = turned(["mcp"], "agent:sql", false);
    expect(off).toEqual(["agent:sql", "mcp"]);
    expect(turned(off, "mcp", true)).toEqual(["agent:sql"]);
    expect(turned(off, "mcp", false)).toEqual(["agent:sql", "mcp"]);
  });

  it("still shows a switch whose tool is gone", () => {
    expect(switchesOf("tool", ["sql", "shell"], ["tool:old", "agent:x"])).toEqual([
      "tool:old",
      "tool:shell",
      "tool:sql",
    ]);
  });
});
