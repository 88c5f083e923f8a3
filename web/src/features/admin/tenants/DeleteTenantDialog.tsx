/** Remove a tenant; its users stay. */

import { useTranslation } from "react-i18next";

import { api, call } from "@/api/client";

import { useChange } from "../parts/change";
import { TypeToConfirm } from "../parts/TypeToConfirm";
import { TENANTS } from "./queries";
import type { TenantDialogProps } from "./TenantTable";

export function DeleteTenantDialog({ tenant, onClose }: TenantDialogProps) {
  const { t } = useTranslation("admin");
  const remove = useChange(
    () => {
      const params = { path: { tenant_id: tenant.tenant_id } };
      return call(api.DELETE("/api/v1/tenants/{tenant_id}", { params }));
    },
    {
      keys: [TENANTS, ["admin", "sources"]],
      done: t("tenants.delete.done", { name: tenant.name }),
      onDone: onClose,
    },
  );
  return (
    <TypeToConfirm
      title={t("tenants.delete.title", { name: tenant.name })}
      text={t("tenants.delete.text")}
      name={tenant.name}
      confirm={t("tenants.delete.open")}
      isBusy={remove.isPending}
      error={remove.error}
      onConfirm={() => remove.mutate(undefined)}
      onClose={onClose}
    />
  );
}
