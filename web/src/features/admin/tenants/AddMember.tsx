/** Take a user into a tenant. */

import { useQuery } from "@tanstack/react-query";
import { useState, type SyntheticEvent } from "react";
import { useTranslation } from "react-i18next";

import { api, call } from "@/api/client";
import { Button } from "@/components/ui/Button";
import { Field } from "@/components/ui/Field";

import { useChange } from "../parts/change";
import { Problem } from "../parts/Problem";
import { UserSelect } from "../parts/UserSelect";
import type { Tenant } from "./form";
import { membersQuery, TENANTS } from "./queries";

const MOST = 1000;

/** Who is a member already is not offered: taken in anew, they would lose their role. */
export function AddMember({ tenant }: { tenant: Tenant }) {
  const { t } = useTranslation("admin");
  const members = useQuery(membersQuery(tenant.tenant_id, 0, MOST));
  const memberIds = members.data?.items.map((each) => each.user_id);
  const [userId, setUserId] = useState("");
  const add = useChange(
    () =>
      call(
        api.PUT("/api/v1/tenants/{tenant_id}/users/{user_id}", {
          params: { path: { tenant_id: tenant.tenant_id, user_id: userId } },
          body: { role: "member" },
        }),
      ),
    { keys: [TENANTS], onDone: () => setUserId("") },
  );
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
