/** When a read of a data source stops. */

import { useTranslation } from "react-i18next";

import { Field } from "@/components/ui/Field";
import { Input } from "@/components/ui/Input";

import type { SourceForm } from "./form";

interface SourceLimitsProps {
  form: SourceForm;
  onChange: (form: SourceForm) => void;
}

const FIELDS = [
  { field: "maxRows", min: 1, step: 1 },
  { field: "maxMegabytes", min: 0.001, step: "any" },
  { field: "timeoutSeconds", min: 0.1, step: "any" },
] as const;

export function SourceLimits({ form, onChange }: SourceLimitsProps) {
  const { t } = useTranslation("admin");
  return (
    <fieldset className="grid gap-2">
      <legend className="mb-2 text-sm font-medium">{t("sources.limits")}</legend>
      <div className="grid gap-3 sm:grid-cols-3">
        {FIELDS.map(({ field, min, step }) => (
          <Field key={field} label={t(`sources.limitNames.${field}`)}>
            {(control) => (
              <Input
                {...control}
                type="number"
                min={min}
                step={step}
                value={form[field]}
                placeholder={t("sources.limitUsual")}
                onChange={(event) => onChange({ ...form, [field]: event.target.value })}
              />
            )}
          </Field>
        ))}
      </div>
      <p className="text-xs text-muted">{t("sources.limitsHint")}</p>
    </fieldset>
  );
}
