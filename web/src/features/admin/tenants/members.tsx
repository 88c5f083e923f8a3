/** A tenant's users, each with their role there. */

import { queryOptions, useQuery } from "@tanstack/react-query";
import { UserRoundMinus, UsersRound } from "lucide-react";
import { useState, type SyntheticEvent } from "react";
import { useTranslation } from "react-i18next";

import { api, call, type Schemas } from "@/api/client";
import { Button } from "@/components/ui/Button";
import { Dialog } from "@/components/ui/Dialog";
import { Field, Select } from "@/components/ui/Field";
import { EmptyState } from "@/components/ui/States";
import type { Column } from "@/components/ui/Table";
import { formatDate } from "@/lib/format";

import { Problem, useChange } from "../kit/change";
import { ResourceList, usePages } from "../kit/list";
import { useNameOf, UserSelect } from "../kit/people";
import { TENANTS } from "../queries";
import type { Tenant } from "./tenantForm";

type Member = Schemas["MemberInfo"];

const PAGE_SIZE = 50;
const MAX_MEMBERS = 1000;

const membersQuery = (tenantId: string, offset: number, limit: number) =>
  queryOptions({
    queryKey: [...TENANTS, "members", tenantId, offset, limit],
    queryFn: () => {
      const params = { path: { tenant_id: tenantId }, query: { limit, offset } };
      return call(api.GET("/api/v1/tenants/{tenant_id}/users", { params }));
    },
  });

function putMember({ tenant_id }: Tenant, user_id: string, role: Member["role"]) {
  const params = { path: { tenant_id, user_id } };
  return call(api.PUT("/api/v1/tenants/{tenant_id}/users/{user_id}", { params, body: { role } }));
}

interface MembersDialogProps {
  tenant: Tenant;
  onClose: () => void;
}

export function MembersDialog({ tenant, onClose }: MembersDialogProps) {
  const { t } = useTranslation("admin");
  const nameOf = useNameOf();
  const pages = usePages(PAGE_SIZE);
  const members = useQuery(membersQuery(tenant.tenant_id, pages.offset, PAGE_SIZE));
  const hasPages = (members.data?.total ?? 0) > PAGE_SIZE || pages.offset > 0;
  const setRole = useChange(
    ({ user_id, role }: Pick<Member, "user_id" | "role">) => putMember(tenant, user_id, role),
    { keys: [TENANTS] },
  );
  const remove = useChange(
    (user_id: string) => {
      const params = { path: { tenant_id: tenant.tenant_id, user_id } };
      return call(api.DELETE("/api/v1/tenants/{tenant_id}/users/{user_id}", { params }));
    },
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
  ];
  return (
    <Dialog
      isOpen
      onClose={onClose}
      title={t("tenants.members.title", { name: tenant.name })}
      description={t("tenants.members.text")}
    >
      <div className="grid gap-4 pb-3">
        <ResourceList
          label={t("tenants.members.open")}
          query={members}
          lines={3}
          columns={columns}
          rowKey={(member) => member.user_id}
          buttons={({ user_id }) => [
            {
              label: t("tenants.members.remove", { name: nameOf(user_id) }),
              icon: UserRoundMinus,
              isDisabled: remove.isPending,
              run: () => remove.mutate(user_id),
            },
          ]}

          {...(hasPages && { paging: pages })}
          empty={<EmptyState icon={UsersRound} title={t("tenants.members.none")} />}
        />
        <Problem error={setRole.error ?? remove.error} />
        {members.data && <AddMember tenant={tenant} />}
      </div>
    </Dialog>
  );
}

/** Members are not offered: added again, they would lose their role. */
function AddMember({ tenant }: { tenant: Tenant }) {
  const { t } = useTranslation("admin");
  const members = useQuery(membersQuery(tenant.tenant_id, 0, MAX_MEMBERS));
  const memberIds = members.data?.items.map((each) => each.user_id);
  const [userId, setUserId] = useState("");
  const add = useChange(() => putMember(tenant, userId, "member"), {
    keys: [TENANTS],
    onDone: () => setUserId(""),
  });
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    add.mutate(undefined);
  };
  return (
    <form className="grid gap-2" onSubmit={submit}>
      <div className="flex items-end gap-2">
        <div className="min-w-0 flex-1">
          <Field label={t("tenants.members.add")}>
            {(control) => (
              <UserSelect
                control={control}
                value={userId}
                empty={t("tenants.members.choose")}
                without={memberIds ?? []}
                onChange={setUserId}
              />
            )}
          </Field>
        </div>
        <Button
          type="submit"
          variant="primary"
          disabled={userId === "" || memberIds === undefined}
          isBusy={add.isPending}
        >
          {t("tenants.members.addButton")}
        </Button>
      </div>
      <Problem error={add.error ?? members.error} />
    </form>
  );
}
