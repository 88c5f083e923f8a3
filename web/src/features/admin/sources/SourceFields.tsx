/** What a data source is called, where it lies, and what holds where no rule speaks. */

import { useTranslation } from "react-i18next";

import { Field } from "@/components/ui/Field";
import { Input, Select, Textarea } from "@/components/ui/Input";

import { AddressField } from "./AddressField";
import type { SourceForm } from "./form";

export interface SourceFieldsProps {
  form: SourceForm;
  isNew: boolean;
  onChange: (form: SourceForm) => void;
}

export function SourceFields({ form, isNew, onChange }: SourceFieldsProps) {
  const { t } = useTranslation("admin");
  return (
    <>
      <Field label={t("sources.name")} hint={t("sources.nameHint")}>
        {(control) => (
          <Input
            {...control}
            value={form.name}
            required
            maxLength={64}
            spellCheck={false}
            onChange={(event) => onChange({ ...form, name: event.target.value })}
          />
        )}
      </Field>
      <AddressField form={form} isNew={isNew} onChange={onChange} />
      <Field label={t("sources.description")} hint={t("sources.descriptionHint")}>
        {(control) => (
          <Textarea
            {...control}
            value={form.description}
            maxLength={4000}
            onChange={(event) => onChange({ ...form, description: event.target.value })}
          />
        )}
      </Field>
      <div className="grid items-start gap-4 sm:grid-cols-2">
        <Field label={t("sources.timeZone")}>
          {(control) => (
            <Input
              {...control}
              value={form.timeZone}
              required
              maxLength={64}
              placeholder="Asia/Shanghai"
              spellCheck={false}
              onChange={(event) => onChange({ ...form, timeZone: event.target.value })}
            />
          )}
        </Field>
        <Field label={t("sources.defaultPolicy")} hint={t("sources.defaultPolicyHint")}>
          {(control) => (
            <Select
              {...control}
              value={form.defaultPolicy}
              onChange={(event) =>
                onChange({
                  ...form,
                  defaultPolicy: event.target.value === "deny" ? "deny" : "allow",
                })
              }
            >
              <option value="allow">{t("sources.defaultPolicies.allow")}</option>
              <option value="deny">{t("sources.defaultPolicies.deny")}</option>
            </Select>
          )}
        </Field>
      </div>
    </>
  );
}
