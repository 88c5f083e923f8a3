/** The tools of an agent. */

import { useTranslation } from "react-i18next";

import { ErrorState, LoadingState } from "@/components/ui/States";

import { ToolPicker } from "./ToolPicker";
import { useToolGroups } from "./useToolGroups";

interface AgentToolsProps {
  /** All tools mean also those to come: the general agent's. */
  canHaveAll: boolean;
  chosen: ReadonlySet<string>;
  onChange: (chosen: ReadonlySet<string>) => void;
}

export function AgentTools({ canHaveAll, chosen, onChange }: AgentToolsProps) {
  const { t } = useTranslation("mcpAdmin");
  const { groups, error, isLoading } = useToolGroups();
  if (isLoading) return <LoadingState />;
  if (error !== null) return <ErrorState error={error} />;
  const keys = groups.flatMap((group) => group.tools.map((tool) => tool.key));
  const hasAll = canHaveAll && keys.length > 0 && keys.every((key) => chosen.has(key));
  return (
    <div className="grid gap-1">
      <ToolPicker groups={groups} chosen={chosen} onChange={onChange} />
      <p className="text-xs text-muted">{hasAll ? t("agents.allHint") : t("agents.toolsHint")}</p>
    </div>
  );
}
