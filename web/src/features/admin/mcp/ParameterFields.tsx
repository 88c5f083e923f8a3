/** What users fill in: one card for each place in the template's text. */

import { useTranslation } from "react-i18next";

import { Checkbox } from "@/components/ui/Checkbox";
import { Field } from "@/components/ui/Field";
import { Input } from "@/components/ui/Input";

import {
  parametersOf,
  type Parameter,
  type TemplateForm,
  type TemplateProblem,
} from "./templateForm";

interface ParameterFieldsProps {
  form: TemplateForm;
  problem: TemplateProblem | undefined;
  onChange: (changes: Partial<TemplateForm>) => void;
}

export function ParameterFields({ form, problem, onChange }: ParameterFieldsProps) {
  const { t } = useTranslation("mcpAdmin");
  const parameters = parametersOf(form);
  const put = (changed: Parameter) =>
    onChange({ parameters: { ...form.parameters, [changed.name]: changed } });
  return (
    <fieldset className="grid gap-3">
      <legend className="mb-1.5 text-sm font-medium">{t("templates.parametersTitle")}</legend>
      {parameters.length === 0 && (
        <p className="text-xs text-muted">{t("templates.parametersHint")}</p>
      )}
      {parameters.map((parameter) => (
        <ParameterCard key={parameter.name} parameter={parameter} onChange={put} />
      ))}
      {problem !== undefined && (
        <p role="alert" className="text-sm text-danger">
          {t(`templates.problems.${problem}`)}
        </p>
      )}
    </fieldset>
  );
}

interface ParameterCardProps {
  parameter: Parameter;
  onChange: (parameter: Parameter) => void;
}

function ParameterCard({ parameter, onChange }: ParameterCardProps) {
  const { t } = useTranslation("mcpAdmin");
  return (
    <div role="group" aria-label={parameter.name} className="rounded-lg border border-line p-3">
      <div className="mb-2 flex flex-wrap items-center gap-x-4 gap-y-1">
        <code className="flex-1 font-mono text-sm">{`{${parameter.name}}`}</code>
        <Checkbox
          label={t("templates.required")}
          checked={parameter.is_required}
          onChange={(event) => onChange({ ...parameter, is_required: event.target.checked })}
        />
        <Checkbox
          label={t("templates.secret")}
          checked={parameter.is_secret}
          onChange={(event) => onChange({ ...parameter, is_secret: event.target.checked })}
        />
      </div>
      <div className="grid gap-3 sm:grid-cols-2">
        <Field label={t("templates.parameterDescription")}>
          {(control) => (
            <Input
              {...control}
              value={parameter.description}
              onChange={(event) => onChange({ ...parameter, description: event.target.value })}
            />
          )}
        </Field>
        <Field label={t("templates.pattern")} hint={t("templates.patternHint")}>
          {(control) => (
            <Input
              {...control}
              className="font-mono"
              spellCheck={false}
              value={parameter.pattern ?? ""}
              onChange={(event) => onChange({ ...parameter, pattern: event.target.value })}
            />
          )}
        </Field>
      </div>
    </div>
  );
}
