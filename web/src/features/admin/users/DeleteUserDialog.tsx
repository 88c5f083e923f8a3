/** Remove an account for good. */

import { useTranslation } from "react-i18next";

import { api, call } from "@/api/client";

import { useChange } from "../parts/change";
import { TypeToConfirm } from "../parts/TypeToConfirm";
import { USERS } from "./queries";
import type { UserDialogProps } from "./UserTable";

export function DeleteUserDialog({ user, onClose }: UserDialogProps) {
  const { t } = useTranslation("admin");
  const remove = useChange(
    () => call(api.DELETE("/api/users/{user_id}", { params: { path: { user_id: user.id } } })),
    { keys: [USERS], done: t("users.delete.done", { name: user.username }), onDone: onClose },
  );
  return (
    <TypeToConfirm
      title={t("users.delete.title", { name: user.username })}
      text={t("users.delete.text")}
      name={user.username}
      confirm={t("users.delete.open")}
      isBusy={remove.isPending}
      error={remove.error}
      onConfirm={() => remove.mutate(undefined)}
      onClose={onClose}
    />
  );
}
