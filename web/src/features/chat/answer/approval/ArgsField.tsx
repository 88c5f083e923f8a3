/** One field of a form made of a schema. */

import { useTranslation } from "react-i18next";

import { Checkbox } from "@/components/ui/Checkbox";
import { Field } from "@/components/ui/Field";
import { Input, Select, Textarea } from "@/components/ui/Input";

import type { FormField, FormValue } from "./argsForm";

interface ArgsFieldProps {
  field: FormField;
  value: FormValue;
  problem: string | null;
  onChange: (value: FormValue) => void;
}

export function ArgsField(props: ArgsFieldProps) {
  const { t } = useTranslation("answer");
  const { field, value, problem, onChange } = props;
  if (field.kind === "choices") return <ChoicesField {...props} />;
  if (field.kind === "yesNo") {
    return (
      <div>
        <Checkbox
          label={field.label}
          checked={value === true}
          onChange={(event) => onChange(event.target.checked)}
        />
        {field.description !== "" && <p className="text-xs text-muted">{field.description}</p>}
      </div>
    );
  }
  return (
    <Field
      label={field.isRequired ? field.label : `${field.label} ${t("form.optional")}`}
      {...(field.description !== "" && { hint: field.description })}
      {...(problem !== null && { error: problem })}
    >
      {(control) => (
        <Control
          {...control}
          field={field}
          value={typeof value === "string" ? value : ""}
          onChange={onChange}
        />
      )}
    </Field>
  );
}

interface ControlProps {
  id: string;
  field: FormField;
  value: string;
  onChange: (value: string) => void;
}

function Control({ field, onChange, ...control }: ControlProps) {
  const change = (event: { target: { value: string } }) => onChange(event.target.value);
  switch (field.kind) {
    case "choice":
      return (
        <Select {...control} onChange={change}>
          <option value="">—</option>
          {field.options.map((option) => (
            <option key={option}>{option}</option>
          ))}
        </Select>
      );
    case "longText":
    case "json":
      return (
        <Textarea
          {...control}
          onChange={change}
          spellCheck={false}
          rows={Math.min(14, control.value.split("\n").length + 1)}
          className="font-mono text-[13px]"
        />
      );
    case "number":
    case "integer":
      return <Input {...control} onChange={change} inputMode="decimal" />;
    default:
      return <Input {...control} onChange={change} type={field.inputType} />;
  }
}

function ChoicesField({ field, value, problem, onChange }: ArgsFieldProps) {
  const chosen = Array.isArray(value) ? value : [];
  return (
    <fieldset className="grid gap-1.5">
      <legend className="mb-1 text-sm font-medium">{field.label}</legend>
      {field.options.map((option) => (
        <Checkbox
          key={option}
          label={option}
          checked={chosen.includes(option)}
          onChange={(event) =>
            onChange(
              field.options.filter((each) =>
                each === option ? event.target.checked : chosen.includes(each),
              ),
            )
          }
        />
      ))}
      {problem !== null && (
        <p role="alert" className="text-sm text-danger">
          {problem}
        </p>
      )}
    </fieldset>
  );
}
