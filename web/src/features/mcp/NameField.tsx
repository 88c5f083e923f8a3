/** The name of a server that is being added. Own and shared servers have it. */

import { useTranslation } from "react-i18next";

import { Field, Input } from "@/components/ui/Field";

import type { FormProblem } from "./serverForm";

interface NameFieldProps {
  name: string;
  problem: FormProblem | undefined;
  onChange: (name: string) => void;
}

export function NameField({ name, problem, onChange }: NameFieldProps) {
  const { t } = useTranslation("mcp");
  return (
    <Field label={t("name")} hint={t("nameHint")} error={problem ? t(`problems.${problem}`) : null}>
      {(control) => (
        <Input
          {...control}
          autoComplete="off"
          spellCheck={false}
          value={name}
          onChange={(event) => onChange(event.target.value)}
        />
      )}
    </Field>
  );
}
