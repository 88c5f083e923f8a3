/** A form for the arguments of a call, or for what a server asks. */

import { useState, type ReactNode } from "react";
import { useTranslation } from "react-i18next";

import type { JsonObject } from "@/events/types";
import { own } from "@/lib/own";

import { ArgsField } from "./ArgsField";
import { formFields, initialValues, readForm, type FieldProblem } from "./argsForm";

interface ArgsFormProps {
  schema: JsonObject | null | undefined;
  args: JsonObject;
  label: string;
  isDisabled: boolean;
  onSubmit: (args: JsonObject) => void;
  /** The buttons; one of them submits. */
  children: ReactNode;
}

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
