/** What the registry's page does with servers: which dialog is open, tests, switching, deleting. */

import { useState } from "react";
import { useTranslation } from "react-i18next";

import { toast } from "@/components/ui/toast";
import { useTrials, type Trials } from "@/features/mcp/useTrials";
import { useErrorText } from "@/lib/errorText";

import { useChange } from "../parts/change";
import { MCP_KEYS, registry } from "./queries";
import type { SharedServer } from "./sharedForm";

export type Opened =
  { dialog: "add" } | { dialog: "edit" | "details" | "delete"; server: SharedServer };

export interface RegistryActions {
  opened: Opened | null;
  open: (opened: Opened | null) => void;
  trials: Trials;
  test: (server: SharedServer) => void;
  refresh: (server: SharedServer) => void;
  toggle: (server: SharedServer) => void;
}

export function useRegistry(): RegistryActions {
  const { t } = useTranslation("mcpAdmin");
  const errorText = useErrorText();
  const [opened, open] = useState<Opened | null>(null);
  const trials = useTrials();
  const toggling = useChange(
    ({ server_id: id, disabled }: SharedServer) =>
      disabled ? registry.enable(id) : registry.disable(id),
    {
      keys: MCP_KEYS,
      onDone: (server) => {
        trials.forget(server.server_id);
        const { name } = server;
        toast(
          server.disabled
            ? t("registry.switchedOff", { name })
            : t("registry.switchedOn", { name }),
        );
      },
    },
  );
  const tryOut = (server: SharedServer, run: typeof registry.test) => {
    open({ dialog: "details", server });
    trials.run(server.server_id, () => run(server.server_id));
  };
  return {
    opened,
    open,
    trials,
    test: (server) => tryOut(server, registry.test),
    refresh: (server) => tryOut(server, registry.refresh),
    toggle: (server) =>
      toggling.mutate(server, {
        onError: (error) => toast(errorText(error), { tone: "danger" }),
      }),
  };
}
