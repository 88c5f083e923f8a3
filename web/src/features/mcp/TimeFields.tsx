/** How long connecting and a call may take. */

import { useTranslation } from "react-i18next";

import { Field, Input } from "@/components/ui/Field";

import type { FormProblems, ServerForm } from "./serverForm";

interface TimeFieldsProps {
  form: ServerForm;
  problems: FormProblems;
  onChange: (changes: Partial<ServerForm>) => void;
}

export function TimeFields({ form, problems, onChange }: TimeFieldsProps) {
  const { t } = useTranslation("mcp");
  return (
    <div className="grid gap-4 sm:grid-cols-2">
      {(["timeout", "callTimeout"] as const).map((name) => (
        <Field
          key={name}
          label={t(name)}
          hint={t(`${name}Hint`)}
          error={problems[name] && t(`problems.${problems[name]}`)}
        >
          {(control) => (
            <Input
              {...control}
              inputMode="decimal"
              value={form[name]}
              onChange={(event) => onChange({ [name]: event.target.value })}
            />
          )}
        </Field>
      ))}
    </div>
  );
}
