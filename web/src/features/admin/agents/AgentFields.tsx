/** The fields of an agent, but for its tools. */

import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";

import { infoQuery } from "@/api/queries";
import { Checkbox } from "@/components/ui/Checkbox";
import { Field } from "@/components/ui/Field";
import { Input, Textarea } from "@/components/ui/Input";

import type { AgentForm, AgentProblems } from "./agentForm";
import { IconChoice } from "./IconChoice";

interface AgentFieldsProps {
  form: AgentForm;
  problems: AgentProblems;
  isNameFixed: boolean;
  onChange: (changes: Partial<AgentForm>) => void;
}

export function AgentFields({ form, problems, isNameFixed, onChange }: AgentFieldsProps) {
  const { t } = useTranslation("mcpAdmin");
  const usualModel = useQuery(infoQuery).data?.model ?? "";
  return (
    <>
      <div className="grid gap-4 sm:grid-cols-2">
        <Field
          label={t("agents.fields.name")}
          hint={isNameFixed ? t("agents.fields.nameFixed") : t("agents.fields.nameHint")}
          error={problems.name && t(`agents.problems.${problems.name}`)}
        >
          {(control) => (
            <Input
              {...control}
              autoComplete="off"
              spellCheck={false}
              disabled={isNameFixed}
              value={form.name}
              onChange={(event) => onChange({ name: event.target.value })}
            />
          )}
        </Field>
        <Field label={t("agents.fields.model")} hint={t("agents.fields.modelHint")}>
          {(control) => (
            <Input
              {...control}
              autoComplete="off"
              spellCheck={false}
              placeholder={usualModel}
              maxLength={200}
              value={form.model}
              onChange={(event) => onChange({ model: event.target.value })}
            />
          )}
        </Field>
      </div>
      <Field label={t("agents.fields.description")} hint={t("agents.fields.descriptionHint")}>
        {(control) => (
          <Textarea
            {...control}
            rows={2}
            className="min-h-16"
            maxLength={4000}
            value={form.description}
            onChange={(event) => onChange({ description: event.target.value })}
          />
        )}
      </Field>
      <Field label={t("agents.fields.prompt")} hint={t("agents.fields.promptHint")}>
        {(control) => (
          <Textarea
            {...control}
            rows={6}
            maxLength={100_000}
            value={form.prompt}
            onChange={(event) => onChange({ prompt: event.target.value })}
          />
        )}
      </Field>
      <IconChoice value={form.icon} onChange={(icon) => onChange({ icon })} />
      <Checkbox
        label={t("agents.fields.shown")}
        checked={form.isShown}
        onChange={(event) => onChange({ isShown: event.target.checked })}
      />
    </>
  );
}
