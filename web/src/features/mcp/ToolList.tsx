/** The tools of a server, each with what it does. What they say of themselves is only text. */

import { useMutation } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";

import type { Schemas } from "@/api/client";
import { Badge } from "@/components/ui/Badge";
import { Button } from "@/components/ui/Button";
import { toast } from "@/components/ui/toast";
import { useErrorText } from "@/lib/errorText";

import { approveTool, refreshMcp } from "./queries";
import { awaitsConfirmation } from "./readOnly";

type ServerTool = Schemas["ServerToolInfo"];

interface ToolListProps {
  tools: ServerTool[];
  label: string;
  /** Whether the reader may confirm what the tools say of themselves. */
  isOwn: boolean;
}

export function ToolList({ tools, label, isOwn }: ToolListProps) {
  const { t } = useTranslation("mcp");
  if (tools.length === 0) return <p className="text-sm text-muted">{t("noTools")}</p>;
  return (
    <ul aria-label={label} className="grid gap-x-6 gap-y-2 sm:grid-cols-2">
      {tools.map((tool) => (
        <li key={tool.id} className="min-w-0 text-sm">
          <div className="flex flex-wrap items-center gap-2">
            <code className="font-mono text-[13px] [overflow-wrap:anywhere]">{tool.name}</code>
            <ToolState tool={tool} />
            {isOwn && awaitsConfirmation(tool) && <ConfirmReads tool={tool} />}
          </div>
          <p className="line-clamp-3 text-xs text-muted [overflow-wrap:anywhere]">
            {tool.description || t("noDescription")}
          </p>
        </li>
      ))}
    </ul>
  );
}

function ToolState({ tool }: { tool: ServerTool }) {
  const { t } = useTranslation("mcp");
  if (tool.status !== "active") return <Badge tone="warn">{t(`toolStatus.${tool.status}`)}</Badge>;
  return tool.enabled ? null : <Badge>{t("toolStatus.off")}</Badge>;
}

function ConfirmReads({ tool }: { tool: ServerTool }) {
  const { t } = useTranslation("mcp");
  const errorText = useErrorText();
  const approving = useMutation({
    mutationFn: () => approveTool(tool.id, tool.definition_hash),
    onError: (error) => toast(errorText(error), { tone: "danger" }),
    onSettled: refreshMcp,
  });
  return (
    <Button
      size="small"
      title={t("confirmReadsHint")}
      aria-label={t("confirmReadsOf", { name: tool.name })}
      isBusy={approving.isPending}
      onClick={() => approving.mutate()}
    >
      {t("confirmReads")}
    </Button>
  );
}
