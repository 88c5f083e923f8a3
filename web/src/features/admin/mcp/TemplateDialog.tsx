/** The form of a template. Mount it to open it. */

import { useState, type ReactNode } from "react";
import { useTranslation } from "react-i18next";

import { Banner } from "@/components/ui/Banner";
import { Field } from "@/components/ui/Field";
import { FormDialog } from "@/components/ui/FormDialog";
import { Input } from "@/components/ui/Input";
import { Words } from "@/features/mcp/CommandFields";
import { focusFirstProblem } from "@/features/mcp/focusProblem";
import { Refusal } from "@/features/mcp/Refusal";
import { SecretRows } from "@/features/mcp/SecretRows";

import { useChange } from "../parts/change";
import { ParameterFields } from "./ParameterFields";
import { MCP_KEYS, templates as store } from "./queries";
import {
  emptyTemplateForm,
  templateBody,
  templateFormOf,
  templateProblemsOf,
  type Template,
  type TemplateForm,
} from "./templateForm";

interface TemplateDialogProps {
  /** The template to change; null makes one. */
  template: Template | null;
  onClose: () => void;
}

export function TemplateDialog({ template, onClose }: TemplateDialogProps) {
  const { t } = useTranslation("mcpAdmin");
  const { t: mcp } = useTranslation("mcp");
  const { t: common } = useTranslation();
  const [form, setForm] = useState<TemplateForm>(() =>
    template ? templateFormOf(template) : emptyTemplateForm(),
  );
  const [isTried, setIsTried] = useState(false);
  const found = templateProblemsOf(form);
  const problems = isTried ? found : {};
  const save = useChange(
    () =>
      template
        ? store.replace(template.template_id, templateBody(form))
        : store.create(templateBody(form)),
    { keys: MCP_KEYS, done: common("saved"), onDone: onClose },
  );
  const change = (changes: Partial<TemplateForm>) => setForm((now) => ({ ...now, ...changes }));
  const submit = (element: HTMLFormElement) => {
    setIsTried(true);
    if (Object.keys(found).length === 0) save.mutate(undefined);
    else focusFirstProblem(element);
  };
  const textField = (name: "name" | "description" | "commandLine", hint: ReactNode) => {
    const problem = name === "description" ? undefined : problems[name];
    return (
      <Field
        label={t(`templates.${name}`)}
        hint={hint}
        error={problem && t(`templates.problems.${problem}`)}
      >
        {(control) => (
          <Input
            {...control}
            className={name === "commandLine" ? "font-mono" : ""}
            autoComplete="off"
            spellCheck={name === "description"}
            value={form[name]}
            onChange={(event) => change({ [name]: event.target.value })}
          />
        )}
      </Field>
    );
  };
  return (
    <FormDialog
      hasOwnChecks
      title={template ? t("templates.editTitle", { name: template.name }) : t("templates.addTitle")}
      isBusy={save.isPending}
      problem={save.error !== null && <Refusal error={save.error} />}
      onSubmit={submit}
      onClose={onClose}
    >
      {template && <Banner kind="warn">{t("templates.editWarning")}</Banner>}
      {textField("name", t("templates.nameHint"))}
      {textField("description", t("templates.descriptionHint"))}
      {textField(
        "commandLine",
        <>
          {t("templates.commandLineHint")}
          <Words line={form.commandLine} />
        </>,
      )}
      <SecretRows
        arePlain
        rows={form.env}
        onChange={(env) => change({ env })}
        legend={mcp("env")}
        hint={t("templates.envHint")}
        nameLabel={mcp("envName")}
        add={mcp("addEnv")}
        areProblemsShown={problems.env !== undefined}
      />
      <ParameterFields form={form} problem={problems.parameters} onChange={change} />
    </FormDialog>
  );
}
