/** A tenant ↔ the fields of its form. */

import type { Schemas } from "@/api/client";

export type Tenant = Schemas["TenantInfo"];

export const LIMITS = ["max_users", "max_sessions_per_user", "max_mcp_servers"] as const;
type Limit = (typeof LIMITS)[number];

const BYTES_PER_MB = 1_000_000;

/** Limits are as they are typed; an empty one does not limit. */
interface TenantForm extends Record<Limit, string> {
  /** Of a new tenant; empty lets the server choose. */
  tenantId: string;
  name: string;
  /** Megabytes; empty is the installation's quota. */
  quota: string;
  /** The switches that are off: `mcp`, `tool:NAME`, `agent:NAME`. */
  off: readonly string[];
}

export const NEW_TENANT: TenantForm = {
  tenantId: "",
  name: "",
  max_users: "",
  max_sessions_per_user: "",
  max_mcp_servers: "",
  quota: "",
  off: [],
};

export function tenantFormOf(tenant: Tenant): TenantForm {
  const shown = (value: number | null) => (value === null ? "" : String(value));
  return {
    tenantId: tenant.tenant_id,
    name: tenant.name,
    max_users: shown(tenant.max_users),
    max_sessions_per_user: shown(tenant.max_sessions_per_user),
    max_mcp_servers: shown(tenant.max_mcp_servers),
    quota: tenant.workspace_quota === null ? "" : String(tenant.workspace_quota / BYTES_PER_MB),
    off: offOf(tenant.features_enabled),
  };
}

export function offOf(features: Tenant["features_enabled"]): string[] {
  return Object.keys(features)
    .filter((feature) => features[feature] === false)
    .sort();
}

/** What to send; what is on is not named, since that is how it is without. */
export function bodyOf(form: TenantForm): Schemas["TenantBody"] {
  const number = (text: string) => (text.trim() === "" ? null : Number(text));
  const quota = number(form.quota);
  return {
    name: form.name.trim(),
    max_users: number(form.max_users),
    max_sessions_per_user: number(form.max_sessions_per_user),
    max_mcp_servers: number(form.max_mcp_servers),
    workspace_quota: quota === null ? null : Math.round(quota * BYTES_PER_MB),
    features_enabled: Object.fromEntries(form.off.map((feature) => [feature, false])),
  };
}

/** The switches with this one turned. */
export function turned(off: readonly string[], feature: string, isOn: boolean): string[] {
  const others = off.filter((each) => each !== feature);
  return isOn ? others : [...others, feature].sort();
}

/** Every switch to show: what exists, and what is off although it does not exist (any more). */
export function switchesOf(
  kind: "tool" | "agent",
  names: readonly string[],
  off: readonly string[],
) {
  const existing = names.map((name) => `${kind}:${name}`);
  const lost = off.filter((each) => each.startsWith(`${kind}:`) && !existing.includes(each));
  return [...new Set([...existing, ...lost])].sort();
}
