/** The accounts: who may log in, and as what. */

import { keepPreviousData, queryOptions, useQuery } from "@tanstack/react-query";
import {
  KeyRound,
  LockKeyhole,
  ShieldCheck,
  Tags,
  Trash2,
  UserRoundCheck,
  UserRoundMinus,
  UserRoundX,
} from "lucide-react";
import { useDeferredValue, useState } from "react";
import { useTranslation } from "react-i18next";

import { api, call } from "@/api/client";
import { useMe } from "@/api/queries";
import { Badge } from "@/components/ui/Badge";
import { Button } from "@/components/ui/Button";
import { Input } from "@/components/ui/Field";
import { EmptyState } from "@/components/ui/States";
import type { Column } from "@/components/ui/Table";
import { formatDate } from "@/lib/format";

import { confirmed, ResourceList, Section, usePages, type RowAction } from "../kit/list";
import { USERS, type User } from "../kit/people";
import { AttributesDialog } from "./attributes";
import { KeysDialog } from "./keys";
import { CreateUserDialog, ResetPasswordDialog } from "./passwords";

const PAGE_SIZE = 50;

const usersQuery = (search: string, offset: number) =>
  queryOptions({
    queryKey: [...USERS, "page", search, offset],
    queryFn: () => {
      const query = { limit: PAGE_SIZE, offset, ...(search !== "" && { search }) };
      return call(api.GET("/api/users", { params: { query } }));
    },
    placeholderData: keepPreviousData,
  });

export function UsersSection() {
  const { t } = useTranslation("admin");
  const { t: common } = useTranslation();
  const me = useMe();
  const [search, setSearch] = useState("");
  const paging = usePages(PAGE_SIZE);
  const users = useQuery(usersQuery(useDeferredValue(search.trim()), paging.offset));
  const actionsOf = useUserActions();
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
  ];
  return (
    <Section
      title={t("sections.users")}
      text={t("users.text")}
      add={{ label: t("users.add"), dialog: (close) => <CreateUserDialog onClose={close} /> }}
    >
      <Input
        type="search"
        aria-label={t("users.search")}
        placeholder={t("users.search")}
        className="max-w-sm"
        value={search}
        onChange={(event) => {
          setSearch(event.target.value);
          paging.onChange(0);
        }}
      />
      <ResourceList
        label={t("sections.users")}
        query={users}
        columns={columns}
        rowKey={(user) => user.id}
        menu={(user) => ({
          label: t("actionsFor", { name: user.username }),
          note: user.id === me?.id ? t("users.ownAccount") : undefined,
          id: user.id,
          actions: actionsOf(user, user.id === me?.id),
        })}

        paging={paging}
        empty={
          <EmptyState
            icon={UserRoundX}
            title={t("users.nobodyFound")}
            action={<Button onClick={() => setSearch("")}>{t("users.showAll")}</Button>}
          />
        }
      />
      <p className="text-xs text-muted">{t("users.loginHint", { app: common("appName") })}</p>
    </Section>
  );
}

/** What can be done with an account. Administrators cannot lock themselves out of their own. */
function useUserActions(): (user: User, isMe: boolean) => RowAction[] {
  const { t } = useTranslation("admin");
  return (user, isMe) => {
    const { username: name } = user;
    const isActive = user.status === "active";
    const role = user.role === "admin" ? "user" : "admin";
    const params = { path: { user_id: user.id } };
    return [
      {
        label: t("users.keys.open"),
        icon: KeyRound,
        dialog: (close) => <KeysDialog user={user} onClose={close} />,
      },
      {
        label: t("users.attributes.open"),
        icon: Tags,
        dialog: (close) => <AttributesDialog user={user} onClose={close} />,
      },
      {
        label: t("users.password.open"),
        icon: LockKeyhole,
        isDisabled: isMe,
        dialog: (close) => <ResetPasswordDialog user={user} onClose={close} />,
      },
      confirmed({
        label: t(role === "admin" ? "users.makeAdmin" : "users.makeUser"),
        icon: ShieldCheck,
        isDisabled: isMe,
        title: t(role === "admin" ? "users.makeAdminTitle" : "users.makeUserTitle", { name }),
        explanation: t(`users.roleHints.${role}`),
        run: () => call(api.PATCH("/api/users/{user_id}/role", { params, body: { role } })),
        keys: [USERS],
      }),
      confirmed({
        label: t(isActive ? "users.disable" : "users.enable"),
        icon: isActive ? UserRoundMinus : UserRoundCheck,
        isDisabled: isMe,
        title: t(isActive ? "users.disableTitle" : "users.enableTitle", { name }),
        explanation: t(isActive ? "users.disableText" : "users.enableText"),
        isDanger: isActive,
        isReversible: true,
        run: () => {
          const body = { status: isActive ? "disabled" : "active" } as const;
          return call(api.PATCH("/api/users/{user_id}/status", { params, body }));
        },
        keys: [USERS],
      }),
      confirmed({
        label: t("users.delete.open"),
        icon: Trash2,
        isDanger: true,
        isDisabled: isMe,
        title: t("users.delete.title", { name }),
        explanation: t("users.delete.text"),
        typed: name,
        run: () => call(api.DELETE("/api/users/{user_id}", { params })),
        keys: [USERS],
        done: t("users.delete.done", { name }),
      }),
    ];
  };
}
