/** One server of the registry: how it is, how it is reached, and its tools. */

import { FlaskConical, RefreshCw } from "lucide-react";
import { useTranslation } from "react-i18next";

import { Button } from "@/components/ui/Button";
import { Dialog } from "@/components/ui/Dialog";
import { StatusBadge } from "@/features/mcp/StatusBadge";
import { StatusDetail } from "@/features/mcp/StatusDetail";
import { TrialPanel } from "@/features/mcp/TrialPanel";
import type { TrialState } from "@/features/mcp/useTrials";

import { ServerFacts } from "./ServerFacts";
import type { SharedServer } from "./sharedForm";
import { ToolTable } from "./ToolTable";

interface ServerDetailDialogProps {
  server: SharedServer;
  trial: TrialState | undefined;
  onTest: () => void;
  onRefresh: () => void;
  onClose: () => void;
}

export function ServerDetailDialog(props: ServerDetailDialogProps) {
  const { t } = useTranslation("mcpAdmin");
  const { server, trial } = props;
  const isRunning = trial?.isRunning ?? false;
  return (
    <Dialog isOpen onClose={props.onClose} title={server.name} width="wide">
      <div className="grid gap-5 pb-4">
        <div className="flex flex-wrap items-center gap-2">
          <StatusBadge server={server} />
          <span className="flex-1" />
          <Button size="small" disabled={server.disabled || isRunning} onClick={props.onTest}>
            <FlaskConical className="size-3.5" aria-hidden />
            {t("registry.test")}
          </Button>
          <Button size="small" disabled={server.disabled || isRunning} onClick={props.onRefresh}>
            <RefreshCw className="size-3.5" aria-hidden />
            {t("registry.refresh")}
          </Button>
        </div>
        {(trial === undefined || trial.trial?.ok === true) && <StatusDetail server={server} />}
        <TrialPanel name={server.name} state={trial} />
        <ServerFacts server={server} />
        <section className="grid gap-2" aria-label={t("details.toolsTitle")}>
          <h3 className="font-medium">{t("details.toolsTitle")}</h3>
          <ToolTable serverId={server.server_id} serverName={server.name} />
        </section>
      </div>
    </Dialog>
  );
}
