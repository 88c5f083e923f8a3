/** The dialog of the registry that is open, if any. */

import { useTranslation } from "react-i18next";

import { AskDialog } from "../parts/AskDialog";
import { useChange } from "../parts/change";
import { MCP_KEYS, registry } from "./queries";
import { ServerDetailDialog } from "./ServerDetailDialog";
import { SharedServerDialog } from "./SharedServerDialog";
import type { SharedServer } from "./sharedForm";
import type { RegistryActions } from "./useRegistry";

interface RegistryDialogsProps {
  actions: RegistryActions;
  servers: SharedServer[];
}

export function RegistryDialogs({ actions, servers }: RegistryDialogsProps) {
  const { opened } = actions;
  const close = () => actions.open(null);
  switch (opened?.dialog) {
    case undefined:
      return null;
    case "add":
    case "edit":
      return (
        <SharedServerDialog
          server={opened.dialog === "edit" ? opened.server : null}
          onClose={close}
          onSaved={(saved) => {
            if (saved.disabled) close();
            else actions.test(saved);
          }}
        />
      );
    case "details": {
      const id = opened.server.server_id;
      const server = servers.find((each) => each.server_id === id) ?? opened.server;
      return (
        <ServerDetailDialog
          server={server}
          trial={actions.trials.of(id)}
          onTest={() => actions.test(server)}
          onRefresh={() => actions.refresh(server)}
          onClose={close}
        />
      );
    }
    case "delete":
      return <DeleteServerDialog server={opened.server} onClose={close} />;
  }
}

function DeleteServerDialog({ server, onClose }: { server: SharedServer; onClose: () => void }) {
  const { t } = useTranslation("mcpAdmin");
  const { t: common } = useTranslation();
  const remove = useChange(() => registry.remove(server.server_id), {
    keys: MCP_KEYS,
    done: t("registry.deleted", { name: server.name }),
    onDone: onClose,
  });
  return (
    <AskDialog
      isDanger
      title={t("registry.deleteTitle", { name: server.name })}
      text={t("registry.deleteText")}
      confirm={common("delete")}
      isBusy={remove.isPending}
      error={remove.error}
      onConfirm={() => remove.mutate(undefined)}
      onClose={onClose}
    />
  );
}
