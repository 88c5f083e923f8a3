/** The sections of the administration, in their order. Each is loaded when it is first opened. */

import { Link } from "@tanstack/react-router";
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
import { useTranslation } from "react-i18next";

import type { admin } from "@/i18n/en/admin";

interface AdminSection {
  /** Its last part of the address. */
  id: string;
  title: keyof (typeof admin)["sections"];
  icon: LucideIcon;
  View: LazyExoticComponent<ComponentType>;
}

type Load<Name extends string> = () => Promise<Record<Name, ComponentType>>;

function section<Name extends string>(
  id: string,
  title: AdminSection["title"],
  icon: LucideIcon,
  name: Name,
  load: Load<Name>,
): AdminSection {
  return { id, title, icon, View: lazy(async () => ({ default: (await load())[name] })) };
}

export const SECTIONS: readonly AdminSection[] = [
  section("users", "users", Users, "UsersSection", () => import("./users/users")),
  section("tenants", "tenants", Building2, "TenantsSection", () => import("./tenants/tenants")),
  section("sources", "sources", DatabaseZap, "SourcesSection", () => import("./sources/sources")),
  section("agents", "agents", Bot, "AgentsSection", () => import("./agents/agents")),
  section("skills", "skills", Sparkles, "SkillsSection", () => import("./skills/skills")),
  section("mcp", "mcp", Plug, "McpRegistrySection", () => import("./mcp/registry")),
  section(
    "allowlists",
    "allowlists",
    ListChecks,
    "AllowlistsSection",
    () => import("./mcp/allowlists"),
  ),
  section("mcp-calls", "mcpCalls", Waypoints, "McpCallsSection", () => import("./mcp/calls")),
  section("usage", "usage", ChartColumn, "UsageSection", () => import("./usage/usage")),
  section("audit", "audit", ScrollText, "AuditSection", () => import("./audit/audit")),
  section("health", "health", HeartPulse, "HealthSection", () => import("./health/health")),
];

export function sectionOf(id: string): AdminSection | undefined {
  return SECTIONS.find((each) => each.id === id);
}

/** Links to the sections, beside them on a wide page. */
export function SectionList() {
  const { t } = useTranslation("admin");
  return (
    <nav aria-label={t("sectionsLabel")} className="sticky top-6 hidden gap-0.5 lg:grid">
      {SECTIONS.map(({ id, title, icon: Icon }) => (
        <Link
          key={id}
          to="/admin/$section"
          params={{ section: id }}
          className="flex items-center gap-2.5 rounded-lg px-2.5 py-2 text-sm hover:bg-sunken"
          activeProps={{ className: "bg-accent-soft font-medium text-accent hover:bg-accent-soft" }}
          activeOptions={{ includeSearch: false }}
        >
          <Icon className="size-4 shrink-0" aria-hidden />
          {t(`sections.${title}`)}
        </Link>
      ))}
    </nav>
  );
}
