/** The icon of an agent by its name; one that is not known has a robot. */

import {
  BookOpen,
  Bot,
  Calculator,
  ChartNoAxesCombined,
  Database,
  Feather,
  Globe,
  Package,
  PenLine,
  Search,
  Shield,
  Sparkles,
  type LucideIcon,
} from "lucide-react";

export const AGENT_ICONS = {
  bot: Bot,
  sparkles: Sparkles,
  database: Database,
  chart: ChartNoAxesCombined,
  search: Search,
  pen: PenLine,
  package: Package,
  globe: Globe,
  book: BookOpen,
  calculator: Calculator,
  shield: Shield,
  feather: Feather,
} as const satisfies Record<string, LucideIcon>;

export type AgentIconName = keyof typeof AGENT_ICONS;

function isKnown(name: string): name is AgentIconName {
  return Object.hasOwn(AGENT_ICONS, name);
}

export function AgentIcon({ name, className }: { name: string; className?: string }) {
  const Icon = isKnown(name) ? AGENT_ICONS[name] : Bot;
  return <Icon className={className} aria-hidden />;
}
