/** The dialog that is open on the page, if any. */

import { useTranslation } from "react-i18next";

import { ConfirmDialog } from "@/components/ui/Dialog";

import { CredentialsDialog } from "./CredentialsDialog";
import { ServerDialog } from "./ServerDialog";
import type { ServerActions } from "./useServerActions";

export function ServerDialogs({ userId, actions }: { userId: string; actions: ServerActions }) {
  const { t } = useTranslation("mcp");
  const { t: common } = useTranslation();
  const { opened } = actions;
  const close = () => actions.open(null);
  switch (opened?.dialog) {
    case undefined:
      return null;
    case "add":
    case "edit":
      return (
        <ServerDialog
          userId={userId}
          server={opened.dialog === "edit" ? opened.server : null}
          onClose={close}
          onSaved={(saved) => {
            close();
            if (!saved.disabled) actions.test(saved.name);
          }}
        />
      );
    case "credentials":
      return (
        <CredentialsDialog
          userId={userId}
          server={opened.server}
          onClose={close}
          onSaved={() => {
            close();
            actions.test(opened.server.name);
          }}
        />
      );
    case "delete":
      return (
        <ConfirmDialog
          isOpen
          title={t("deleteTitle", { name: opened.server.name })}
          text={t("deleteText")}
          confirm={common("delete")}
          isBusy={actions.isRemoving}
          onConfirm={() => actions.remove(opened.server)}
          onClose={close}
        />
      );
  }
}
