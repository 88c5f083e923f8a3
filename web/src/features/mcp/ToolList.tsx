/** The tools of a server, each with what it does. What they say of themselves is only text. */

import { useTranslation } from "react-i18next";

import type { Schemas } from "@/api/client";
import { Badge } from "@/components/ui/Badge";

type Tool = Schemas["ServerToolInfo"];

export function ToolList({ tools, label }: { tools: Tool[]; label: string }) {
  const { t } = useTranslation("mcp");
  if (tools.length === 0) return <p className="text-sm text-muted">{t("noTools")}</p>;
  return (
    <ul aria-label={label} className="grid gap-x-6 gap-y-2 sm:grid-cols-2">
      {tools.map((tool) => (
        <li key={tool.id} className="min-w-0 text-sm">
          <div className="flex flex-wrap items-center gap-2">
            <code className="font-mono text-[13px] [overflow-wrap:anywhere]">{tool.name}</code>
            <ToolState tool={tool} />
          </div>
          <p className="line-clamp-3 text-xs text-muted [overflow-wrap:anywhere]">
            {tool.description || t("noDescription")}
          </p>
        </li>
      ))}
    </ul>
  );
}

function ToolState({ tool }: { tool: Tool }) {
  const { t } = useTranslation("mcp");
  if (tool.status !== "active") return <Badge tone="warn">{t(`toolStatus.${tool.status}`)}</Badge>;
  return tool.enabled ? null : <Badge>{t("toolStatus.off")}</Badge>;
}
