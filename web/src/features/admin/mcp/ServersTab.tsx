/** The registered servers, with users' own on demand. */

import { Plus, Server } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";

import { Button } from "@/components/ui/Button";
import { Checkbox } from "@/components/ui/Checkbox";
import { EmptyState } from "@/components/ui/States";

import { RegistryDialogs } from "./RegistryDialogs";
import { ServerTable } from "./ServerTable";
import type { SharedServer } from "./sharedForm";
import type { RegistryActions } from "./useRegistry";

interface ServersTabProps {
  servers: SharedServer[];
  actions: RegistryActions;
}

export function ServersTab({ servers, actions }: ServersTabProps) {
  const { t } = useTranslation("mcpAdmin");
  const [isOwnShown, setIsOwnShown] = useState(false);
  const shown = servers.filter((server) => isOwnShown || server.scope !== "user");
  return (
    <div className="grid gap-3">
      <div className="flex flex-wrap items-center gap-3">
        <Checkbox
          label={t("registry.showOwn")}
          checked={isOwnShown}
          onChange={(event) => setIsOwnShown(event.target.checked)}
          className="flex-1"
        />
        <Button variant="primary" onClick={() => actions.open({ dialog: "add" })}>
          <Plus className="size-4" aria-hidden />
          {t("registry.add")}
        </Button>
      </div>
      {shown.length === 0 ? (
        <EmptyState icon={Server} title={t("registry.none")} text={t("registry.noneText")} />
      ) : (
        <ServerTable
          servers={shown}
          onDetails={(server) => actions.open({ dialog: "details", server })}
          onEdit={(server) => actions.open({ dialog: "edit", server })}
          onTest={actions.test}
          onRefresh={actions.refresh}
          onToggle={actions.toggle}
          onDelete={(server) => actions.open({ dialog: "delete", server })}
        />
      )}
      <RegistryDialogs actions={actions} servers={servers} />
    </div>
  );
}
