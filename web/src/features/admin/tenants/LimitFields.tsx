/** How much a tenant and its users may have. */

import { useTranslation } from "react-i18next";

import { Field } from "@/components/ui/Field";
import { Input } from "@/components/ui/Input";

import { LIMITS, type TenantForm } from "./form";

interface LimitFieldsProps {
  form: TenantForm;
  onChange: (form: TenantForm) => void;
}

export function LimitFields({ form, onChange }: LimitFieldsProps) {
  const { t } = useTranslation("admin");
  return (
    <fieldset className="grid gap-3">
      <legend className="mb-2 text-sm font-medium">{t("tenants.limitsTitle")}</legend>
      <div className="grid gap-3 sm:grid-cols-2">
        {LIMITS.map((limit) => (
          <Field key={limit} label={t(`tenants.limits.${limit}`)}>
            {(control) => (
              <Input
                {...control}
                type="number"
                min={0}
                max={2147483647}
                step={1}
                placeholder={t("tenants.unlimited")}
                value={form.limits[limit]}
                onChange={(event) =>
                  onChange({ ...form, limits: { ...form.limits, [limit]: event.target.value } })
                }
              />
            )}
          </Field>
        ))}
        <Field label={t("tenants.quota")}>
          {(control) => (
            <Input
              {...control}
              type="number"
              min={0}
              step="any"
              placeholder={t("tenants.usual")}
              value={form.quota}
              onChange={(event) => onChange({ ...form, quota: event.target.value })}
            />
          )}
        </Field>
      </div>
      <p className="text-xs text-muted">{t("tenants.limitsHint")}</p>
    </fieldset>
  );
}
