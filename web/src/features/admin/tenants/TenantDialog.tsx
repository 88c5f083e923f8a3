/** Add a tenant, or change one's limits and switches. */

import { useState } from "react";
import { useTranslation } from "react-i18next";

import { api, call } from "@/api/client";
import { Field } from "@/components/ui/Field";
import { FormDialog } from "@/components/ui/FormDialog";
import { Input } from "@/components/ui/Input";

import { useChange } from "../parts/change";
import { Problem } from "../parts/Problem";
import { FeatureSwitches } from "./FeatureSwitches";
import { bodyOf, formOf, NEW_TENANT, type Tenant } from "./form";
import { LimitFields } from "./LimitFields";
import { TENANTS } from "./queries";

interface TenantDialogProps {
  /** Null: a new one. */
  tenant: Tenant | null;
  onClose: () => void;
}

export function TenantDialog({ tenant, onClose }: TenantDialogProps) {
  const { t } = useTranslation("admin");
  const { t: common } = useTranslation();
  const [form, setForm] = useState(() => (tenant === null ? NEW_TENANT : formOf(tenant)));
  const [tenantId, setTenantId] = useState("");
  const save = useChange(
    () => {
      const body = bodyOf(form);
      if (tenant === null)
        return call(
          api.POST("/api/v1/tenants", { body: { ...body, tenant_id: tenantId || null } }),
        );
      const params = { path: { tenant_id: tenant.tenant_id } };
      return call(api.PUT("/api/v1/tenants/{tenant_id}", { params, body }));
    },
    { keys: [TENANTS], done: common("saved"), onDone: onClose },
  );
  return (
    <FormDialog
      title={tenant === null ? t("tenants.add") : t("tenants.editTitle", { name: tenant.name })}
      save={tenant === null ? t("tenants.add") : common("save")}
      isBusy={save.isPending}
      problem={<Problem error={save.error} />}
      onSubmit={() => save.mutate(undefined)}
      onClose={onClose}
    >
      <Field label={t("tenants.name")}>
        {(control) => (
          <Input
            {...control}
            value={form.name}
            required
            maxLength={200}
            onChange={(event) => setForm({ ...form, name: event.target.value })}
          />
        )}
      </Field>
      {tenant === null && (
        <Field label={t("tenants.id")} hint={t("tenants.idHint")}>
          {(control) => (
            <Input
              {...control}
              value={tenantId}
              pattern="[A-Za-z0-9][A-Za-z0-9_.@\-]{0,63}"
              spellCheck={false}
              onChange={(event) => setTenantId(event.target.value.trim())}
            />
          )}
        </Field>
      )}
      <LimitFields form={form} onChange={setForm} />
      <FeatureSwitches off={form.off} onChange={(off) => setForm({ ...form, off })} />
    </FormDialog>
  );
}
