/** Accounts in a list, and the dialog that was opened for one of them. */

import { useState, type ComponentType } from "react";
import { useTranslation } from "react-i18next";

import { useMe } from "@/api/me";
import { Badge } from "@/components/ui/Badge";
import { Table, type Column } from "@/components/ui/Table";
import { formatDate } from "@/lib/format";

import type { User } from "../parts/people";
import { AttributesDialog } from "./AttributesDialog";
import { DeleteUserDialog } from "./DeleteUserDialog";
import { KeysDialog } from "./KeysDialog";
import { ResetPasswordDialog } from "./ResetPasswordDialog";
import { RoleDialog } from "./RoleDialog";
import { StatusDialog } from "./StatusDialog";
import { UserActions, type UserAction } from "./UserActions";

export interface UserDialogProps {
  user: User;
  onClose: () => void;
}

const DIALOGS: Record<UserAction, ComponentType<UserDialogProps>> = {
  role: RoleDialog,
  status: StatusDialog,
  password: ResetPasswordDialog,
  keys: KeysDialog,
  attributes: AttributesDialog,
  delete: DeleteUserDialog,
};

export function UserTable({ users }: { users: User[] }) {
  const { t } = useTranslation("admin");
  const me = useMe();
  const [opened, setOpened] = useState<{ user: User; action: UserAction } | null>(null);
  const Opened = opened && DIALOGS[opened.action];
  const columns: Column<User>[] = [
    {
      header: t("users.name"),
      cell: (user) => (
        <span className="inline-flex flex-wrap items-center gap-2 font-medium">
          {user.username}
          {user.id === me?.id && <Badge tone="accent">{t("users.you")}</Badge>}
        </span>
      ),
    },
    { header: t("users.role"), isMinor: true, cell: (user) => t(`users.roles.${user.role}`) },
    {
      header: t("users.status"),
      cell: (user) => (
        <Badge tone={user.status === "active" ? "good" : "warn"}>
          {t(`users.statuses.${user.status}`)}
        </Badge>
      ),
    },
    {
      header: t("users.since"),
      isMinor: true,
      cell: (user) => (user.created_at === null ? "" : formatDate(user.created_at)),
    },
    {
      header: t("actions"),
      isRight: true,
      cell: (user) => (
        <UserActions
          user={user}
          isMe={user.id === me?.id}
          onChoose={(action) => setOpened({ user, action })}
        />
      ),
    },
  ];
  return (
    <>
      <Table
        label={t("sections.users")}
        columns={columns}
        rows={users}
        rowKey={(user) => user.id}
      />
      {opened && Opened && <Opened user={opened.user} onClose={() => setOpened(null)} />}
    </>
  );
}
