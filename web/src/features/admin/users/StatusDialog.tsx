/** Keep a user out, or let them in again. */

import { useTranslation } from "react-i18next";

import { api, call } from "@/api/client";

import { AskDialog } from "../parts/AskDialog";
import { useChange } from "../parts/change";
import { USERS } from "./queries";
import type { UserDialogProps } from "./UserTable";

export function StatusDialog({ user, onClose }: UserDialogProps) {
  const { t } = useTranslation("admin");
  const isActive = user.status === "active";
  const status = isActive ? "disabled" : "active";
  const change = useChange(
    () => {
      const params = { path: { user_id: user.id } };
      return call(api.PATCH("/api/users/{user_id}/status", { params, body: { status } }));
    },
    { keys: [USERS], onDone: onClose },
  );
  return (
    <AskDialog
      title={t(isActive ? "users.disableTitle" : "users.enableTitle", { name: user.username })}
      text={t(isActive ? "users.disableText" : "users.enableText")}
      confirm={t(isActive ? "users.disable" : "users.enable")}
      isDanger={isActive}
      isBusy={change.isPending}
      error={change.error}
      onConfirm={() => change.mutate(undefined)}
      onClose={onClose}
    />
  );
}
