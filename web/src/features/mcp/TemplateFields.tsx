/** A server from an administrator's template: which one, and its parameters. */

import { useTranslation } from "react-i18next";

import { Banner } from "@/components/ui/Banner";
import { Field, Input, Select } from "@/components/ui/Field";

import type { WayProps } from "./ConnectionFields";
import type { Template } from "./queries";

export function TemplateFields({ form, problems, onChange, templates, known }: WayProps) {
  const { t } = useTranslation("mcp");
  if (templates.length === 0) return <Banner>{t("noTemplates")}</Banner>;
  const template = templates.find((each) => each.template_id === form.templateId);
  const isStored = known?.template !== null && known?.template === form.templateId;
  return (
    <>
      <Field
        label={t("template")}
        hint={template?.description}
        error={template === undefined && problems.template ? t("problems.needed") : null}
      >
        {(control) => (
          <Select
            {...control}
            value={template?.template_id ?? ""}
            onChange={(event) => onChange({ templateId: event.target.value, parameters: {} })}
          >
            <option value="">{t("chooseTemplate")}</option>
            {templates.map((each) => (
              <option key={each.template_id} value={each.template_id}>
                {each.name}
              </option>
            ))}
          </Select>
        )}
      </Field>
      {isStored && template !== undefined && template.parameters.length > 0 && (
        <p className="text-sm text-muted">{t("refill")}</p>
      )}
      {template?.parameters.map((parameter) => (
        <ParameterField
          key={parameter.name}
          parameter={parameter}
          value={form.parameters[parameter.name] ?? ""}
          isMarked={problems.template !== undefined}
          onChange={(value) =>
            onChange({ parameters: { ...form.parameters, [parameter.name]: value } })
          }
        />
      ))}
    </>
  );
}

interface ParameterFieldProps {
  parameter: Template["parameters"][number];
  value: string;
  isMarked: boolean;
  onChange: (value: string) => void;
}

function ParameterField({ parameter, value, isMarked, onChange }: ParameterFieldProps) {
  const { t } = useTranslation("mcp");
  const isMissing = isMarked && parameter.is_required && value === "";
  const label = parameter.is_required ? parameter.name : `${parameter.name} (${t("optional")})`;
  const hints = [
    parameter.description,
    parameter.pattern === null ? "" : t("mustMatch", { pattern: parameter.pattern }),
    parameter.is_secret ? t("secretsHint") : "",
  ].filter(Boolean);
  return (
    <Field
      label={label}
      hint={hints.length > 0 ? hints.join(" ") : undefined}
      error={isMissing ? t("problems.needed") : null}
    >
      {(control) => (
        <Input
          {...control}
          type={parameter.is_secret ? "password" : "text"}
          autoComplete={parameter.is_secret ? "new-password" : "off"}
          spellCheck={false}
          value={value}
          onChange={(event) => onChange(event.target.value)}
        />
      )}
    </Field>
  );
}
