/** Texts of the administration. */

import { audit } from "./admin/audit";
import { health } from "./admin/health";
import { policies } from "./admin/policies";
import { sources } from "./admin/sources";
import { tenants } from "./admin/tenants";
import { usage } from "./admin/usage";
import { users } from "./admin/users";

export const admin = {
  title: "Administration",
  text: "Who may come in, what they may see and use, and what happened.",
  sectionsLabel: "Sections of the administration",
  sections: {
    users: "Users",
    tenants: "Tenants and quotas",
    sources: "Data sources",
    agents: "Agents",
    skills: "Skills",
    mcp: "MCP registry",
    allowlists: "Tool permissions",
    mcpCalls: "MCP calls",
    usage: "Usage and cost",
    audit: "Audit log",
    health: "System health",
  },
  toUsers: "Go to the users",
  actions: "Actions",
  actionsFor: "Actions for {{name}}",
  copyId: "Copy the id",
  shownOnce: "It is shown this once. Copy it now and pass it on safely.",
  typeToConfirm: "Type “{{name}}” to confirm",
  paging: {
    label: "Pages of the list",
    position: "{{first}}–{{last}} of {{total}}",
    previous: "Previous page",
    next: "Next page",
  },
  users,
  tenants,
  sources,
  policies,
  usage,
  audit,
  health,
};
