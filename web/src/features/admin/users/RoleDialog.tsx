/** Make a user an administrator, or not one any more. */

import { useTranslation } from "react-i18next";

import { api, call } from "@/api/client";

import { AskDialog } from "../parts/AskDialog";
import { useChange } from "../parts/change";
import { USERS } from "./queries";
import type { UserDialogProps } from "./UserTable";

export function RoleDialog({ user, onClose }: UserDialogProps) {
  const { t } = useTranslation("admin");
  const role = user.role === "admin" ? "user" : "admin";
  const change = useChange(
    () => {
      const params = { path: { user_id: user.id } };
      return call(api.PATCH("/api/users/{user_id}/role", { params, body: { role } }));
    },
    { keys: [USERS], onDone: onClose },
  );
  return (
    <AskDialog
      title={t(role === "admin" ? "users.makeAdminTitle" : "users.makeUserTitle", {
        name: user.username,
      })}
      text={t(`users.roleHints.${role}`)}
      confirm={t(role === "admin" ? "users.makeAdmin" : "users.makeUser")}
      isBusy={change.isPending}
      error={change.error}
      onConfirm={() => change.mutate(undefined)}
      onClose={onClose}
    />
  );
}
