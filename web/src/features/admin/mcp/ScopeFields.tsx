/** Whose a shared server is: everyone's, or one tenant's. */

import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";

import { Field } from "@/components/ui/Field";
import { Select } from "@/components/ui/Input";
import { WayChoice } from "@/features/mcp/WayChoice";

import { tenantsQuery } from "../tenants/queries";
import type { SharedForm, SharedProblems } from "./sharedForm";

export interface SharedFieldsProps {
  form: SharedForm;
  problems: SharedProblems;
  onChange: (changes: Partial<SharedForm>) => void;
}

const SCOPES: SharedForm["scope"][] = ["global", "tenant"];

export function ScopeFields({ form, problems, onChange }: SharedFieldsProps) {
  const { t } = useTranslation("mcpAdmin");
  const tenants = useQuery(tenantsQuery).data?.items ?? [];
  return (
    <>
      <WayChoice
        legend={t("server.scope")}
        choices={SCOPES.map((value) => ({ value, label: t(`server.scopes.${value}`) }))}
        value={form.scope}
        onChange={(scope) => onChange({ scope })}
      />
      {form.scope === "tenant" && (
        <Field
          label={t("server.tenant")}
          hint={tenants.length === 0 ? t("server.noTenants") : undefined}
          error={problems.tenantId && t(`server.problems.${problems.tenantId}`)}
        >
          {(control) => (
            <Select
              {...control}
              value={form.tenantId}
              onChange={(event) => onChange({ tenantId: event.target.value })}
            >
              <option value="">{t("server.chooseTenant")}</option>
              {tenants.map((each) => (
                <option key={each.tenant_id} value={each.tenant_id}>
                  {each.name}
                </option>
              ))}
            </Select>
          )}
        </Field>
      )}
    </>
  );
}
