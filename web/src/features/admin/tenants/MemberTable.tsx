/** A tenant's users, each with their role there. */

import { UserRoundMinus } from "lucide-react";
import { useTranslation } from "react-i18next";

import { api, call, type Schemas } from "@/api/client";
import { IconButton } from "@/components/ui/IconButton";
import { Select } from "@/components/ui/Input";
import { Table, type Column } from "@/components/ui/Table";
import { formatDate } from "@/lib/format";

import { useChange } from "../parts/change";
import { useNameOf } from "../parts/people";
import { Problem } from "../parts/Problem";
import type { Tenant } from "./form";
import { TENANTS } from "./queries";

type Member = Schemas["MemberInfo"];

interface MemberTableProps {
  tenant: Tenant;
  members: Member[];
}

export function MemberTable({ tenant, members }: MemberTableProps) {
  const { t } = useTranslation("admin");
  const nameOf = useNameOf();
  const paramsOf = (userId: string) => ({
    path: { tenant_id: tenant.tenant_id, user_id: userId },
  });
  const setRole = useChange(
    ({ user_id, role }: Pick<Member, "user_id" | "role">) =>
      call(
        api.PUT("/api/v1/tenants/{tenant_id}/users/{user_id}", {
          params: paramsOf(user_id),
          body: { role },
        }),
      ),
    { keys: [TENANTS] },
  );
  const remove = useChange(
    (userId: string) =>
      call(api.DELETE("/api/v1/tenants/{tenant_id}/users/{user_id}", { params: paramsOf(userId) })),
    { keys: [TENANTS] },
  );
  const columns: Column<Member>[] = [
    { header: t("users.name"), cell: (member) => nameOf(member.user_id) },
    {
      header: t("users.role"),
      cell: ({ user_id, role }) => (
        <Select
          aria-label={t("tenants.members.roleOf", { name: nameOf(user_id) })}
          className="w-auto min-w-28"
          value={role}
          disabled={setRole.isPending}
          onChange={(event) =>
            setRole.mutate({ user_id, role: event.target.value === "admin" ? "admin" : "member" })
          }
        >
          <option value="member">{t("tenants.members.roles.member")}</option>
          <option value="admin">{t("tenants.members.roles.admin")}</option>
        </Select>
      ),
    },
    { header: t("users.since"), isMinor: true, cell: (member) => formatDate(member.created_at) },
    {
      header: t("actions"),
      isRight: true,
      cell: ({ user_id }) => (
        <IconButton
          icon={UserRoundMinus}
          label={t("tenants.members.remove", { name: nameOf(user_id) })}
          disabled={remove.isPending}
          onClick={() => remove.mutate(user_id)}
          isSmall
        />
      ),
    },
  ];
  return (
    <>
      <Table
        label={t("tenants.members.open")}
        columns={columns}
        rows={members}
        rowKey={(member) => member.user_id}
      />
      <Problem error={setRole.error ?? remove.error} />
    </>
  );
}
