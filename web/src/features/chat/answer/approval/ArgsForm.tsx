/** The arguments of a call as a form. */

import { useState, type ReactNode } from "react";
import { useTranslation } from "react-i18next";

import { Checkbox, Field, Input, Select, Textarea } from "@/components/ui/Field";
import type { JsonObject } from "@/events/types";
import { own } from "@/lib/own";

import {
  formFields,
  initialValues,
  readForm,
  type FieldProblem,
  type FormField,
  type FormValue,
} from "./argsForm";

interface ArgsFormProps {
  schema: JsonObject | null | undefined;
  args: JsonObject;
  label: string;
  isDisabled: boolean;
  onSubmit: (args: JsonObject) => void;
  /** The buttons; one of them submits. */
  children: ReactNode;
}

/** A form for the arguments of a call, or for what a server asks. */
export function ArgsForm({ schema, args, label, isDisabled, onSubmit, children }: ArgsFormProps) {
  const { t } = useTranslation("answer");
  const fields = formFields(schema, args);
  const [values, setValues] = useState(() => initialValues(fields, args));
  const [problems, setProblems] = useState<Record<string, FieldProblem>>({});
  const submit = () => {
    const read = readForm(fields, values, args);
    setProblems(read.problems ?? {});
    if (read.args !== null) onSubmit(read.args);
  };
  return (
    <form
      noValidate
      aria-label={label}
      className="grid grid-cols-1 gap-3 rounded-lg border border-line p-3"
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      <fieldset disabled={isDisabled} className="grid min-w-0 grid-cols-1 gap-3">
        {fields.map((field) => {
          const problem = own(problems, field.name);
          return (
            <ArgsField
              key={field.name}
              field={field}
              value={own(values, field.name) ?? ""}
              problem={problem === undefined ? null : t(`form.${problem}`, { field })}
              onChange={(value) => setValues({ ...values, [field.name]: value })}
            />
          );
        })}
        {fields.length === 0 && <p className="text-sm text-muted">{t("form.empty")}</p>}
      </fieldset>
      <div className="flex flex-wrap gap-2">{children}</div>
    </form>
  );
}

interface ArgsFieldProps {
  field: FormField;
  value: FormValue;
  problem: string | null;
  onChange: (value: FormValue) => void;
}

/** One field of a form made of a schema. */
function ArgsField(props: ArgsFieldProps) {
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
