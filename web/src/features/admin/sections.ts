/** The sections of the administration, in their order. Each is loaded when it is first opened. */

import {
  Bot,
  Building2,
  ChartColumn,
  DatabaseZap,
  HeartPulse,
  ListChecks,
  Plug,
  ScrollText,
  Sparkles,
  Users,
  Waypoints,
  type LucideIcon,
} from "lucide-react";
import { lazy, type ComponentType, type LazyExoticComponent } from "react";

export interface AdminSection {
  /** Its last part of the address. */
  id: string;
  /** Its name, in the texts `admin:sections`. */
  title: SectionTitle;
  icon: LucideIcon;
  View: LazyExoticComponent<ComponentType>;
}

export type SectionTitle =
  | "users"
  | "tenants"
  | "sources"
  | "agents"
  | "skills"
  | "mcp"
  | "allowlists"
  | "mcpCalls"
  | "usage"
  | "audit"
  | "health";

export const SECTIONS: readonly AdminSection[] = [
  {
    id: "users",
    title: "users",
    icon: Users,
    View: lazy(async () => ({ default: (await import("./users/UsersSection")).UsersSection })),
  },
  {
    id: "tenants",
    title: "tenants",
    icon: Building2,
    View: lazy(async () => ({
      default: (await import("./tenants/TenantsSection")).TenantsSection,
    })),
  },
  {
    id: "sources",
    title: "sources",
    icon: DatabaseZap,
    View: lazy(async () => ({
      default: (await import("./sources/SourcesSection")).SourcesSection,
    })),
  },
  {
    id: "agents",
    title: "agents",
    icon: Bot,
    View: lazy(async () => ({ default: (await import("./agents")).AgentsSection })),
  },
  {
    id: "skills",
    title: "skills",
    icon: Sparkles,
    View: lazy(async () => ({ default: (await import("./skills")).SkillsSection })),
  },
  {
    id: "mcp",
    title: "mcp",
    icon: Plug,
    View: lazy(async () => ({ default: (await import("./mcp")).McpRegistrySection })),
  },
  {
    id: "allowlists",
    title: "allowlists",
    icon: ListChecks,
    View: lazy(async () => ({ default: (await import("./mcp")).AllowlistsSection })),
  },
  {
    id: "mcp-calls",
    title: "mcpCalls",
    icon: Waypoints,
    View: lazy(async () => ({ default: (await import("./mcp")).McpCallsSection })),
  },
  {
    id: "usage",
    title: "usage",
    icon: ChartColumn,
    View: lazy(async () => ({ default: (await import("./usage/UsageSection")).UsageSection })),
  },
  {
    id: "audit",
    title: "audit",
    icon: ScrollText,
    View: lazy(async () => ({ default: (await import("./audit/AuditSection")).AuditSection })),
  },
  {
    id: "health",
    title: "health",
    icon: HeartPulse,
    View: lazy(async () => ({ default: (await import("./health/HealthSection")).HealthSection })),
  },
];

export function sectionOf(id: string): AdminSection | undefined {
  return SECTIONS.find((each) => each.id === id);
}
