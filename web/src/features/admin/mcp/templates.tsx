/** Templates: programs that users may have as servers. */

import { useQuery } from "@tanstack/react-query";
import { LayoutTemplate, Pencil, Trash2 } from "lucide-react";
import { useTranslation } from "react-i18next";

import { api, call } from "@/api/client";
import { Banner } from "@/components/ui/Banner";
import { Checkbox } from "@/components/ui/Field";
import { EmptyState } from "@/components/ui/States";
import type { Column } from "@/components/ui/Table";
import { formatCommandLine } from "@/features/mcp/commandLine";
import { templatesQuery, type Template } from "@/features/mcp/queries";
import { Refusal } from "@/features/mcp/Refusal";
import { SecretRows } from "@/features/mcp/SecretRows";
import { Words } from "@/features/mcp/ServerFields";

import { EditDialog, Fields, input, PLAIN, row } from "../kit/form";
import { AddButton, confirmed, ResourceList } from "../kit/list";
import { MCP_KEYS } from "./queries";
import {
  emptyTemplateForm,
  parametersOf,
  templateBody,
  templateFormOf,
  templateProblemsOf,
  type Parameter,
  type TemplateForm,
  type TemplateProblem,
  type TemplateProblems,
} from "./templateForm";

const pathOf = (template: Template) => ({
  params: { path: { template_id: template.template_id } },
});

export function TemplatesTab() {
  const { t } = useTranslation("mcpAdmin");
  const { t: common } = useTranslation();
  const templates = useQuery(templatesQuery);
  const columns: Column<Template>[] = [
    {
      header: t("templates.name"),
      cell: (template) => (
        <>
          <p className="font-medium">{template.name}</p>
          <p className="text-xs text-muted [overflow-wrap:anywhere]">{template.description}</p>
        </>
      ),
    },
    {
      header: t("templates.command"),
      isMinor: true,
      cell: ({ command, args }) => (
        <code className="text-xs [overflow-wrap:anywhere]">
          {formatCommandLine({ command: command ?? "", args: args ?? [] })}
        </code>
      ),
    },
    {
      header: t("templates.parameters"),
      cell: ({ parameters }) =>
        parameters.map((each) => each.name).join(", ") || t("templates.noParameters"),
    },
  ];
  return (
    <div className="grid gap-3">
      <div className="flex flex-wrap items-start gap-3">
        <div className="flex-1 basis-60">
          <p className="max-w-2xl text-sm text-muted">{t("templates.text")}</p>
        </div>
        <AddButton
          label={t("templates.add")}
          dialog={(close) => <TemplateDialog template={null} onClose={close} />}
        />
      </div>
      <ResourceList
        label={t("registry.templates")}
        query={templates}
        columns={columns}
        rowKey={(template) => template.template_id}
        buttons={(template) => [
          {
            label: t("templates.edit", { name: template.name }),
            icon: Pencil,
            dialog: (close) => <TemplateDialog template={template} onClose={close} />,
          },
          confirmed({
            label: t("templates.delete", { name: template.name }),
            text: common("delete"),
            icon: Trash2,
            isDanger: true,
            title: t("templates.deleteTitle", { name: template.name }),
            explanation: t("templates.deleteText"),
            run: () => call(api.DELETE("/api/v1/mcp/templates/{template_id}", pathOf(template))),
            keys: MCP_KEYS,
            done: t("templates.deleted", { name: template.name }),
          }),
        ]}

        empty={
          <EmptyState
            icon={LayoutTemplate}
            title={t("templates.none")}
            text={t("templates.noneText")}
          />
        }
      />
    </div>
  );
}

interface TemplateDialogProps {
  /** Null: a new one. */
  template: Template | null;
  onClose: () => void;
}

function TemplateDialog({ template, onClose }: TemplateDialogProps) {
  const { t } = useTranslation("mcpAdmin");
  const { t: mcp } = useTranslation("mcp");
  const { t: common } = useTranslation();
  const text = (problem: TemplateProblem | undefined) =>
    problem && t(`templates.problems.${problem}`);
  return (
    <EditDialog<TemplateForm, unknown, TemplateProblems>
      title={template ? t("templates.editTitle", { name: template.name }) : t("templates.addTitle")}
      initial={() => (template ? templateFormOf(template) : emptyTemplateForm())}
      check={templateProblemsOf}
      fields={({ form, change, problems }) => [
        template !== null && <Banner kind="warn">{t("templates.editWarning")}</Banner>,
        input("name", t("templates.name"), {
          hint: t("templates.nameHint"),
          error: text(problems.name),
          ...PLAIN,
        }),
        input("description", t("templates.description"), {
          hint: t("templates.descriptionHint"),
          autoComplete: "off",
          spellCheck: true,
        }),
        input("commandLine", t("templates.commandLine"), {
          hint: (
            <>
              {t("templates.commandLineHint")}
              <Words line={form.commandLine} />
            </>
          ),
          error: text(problems.commandLine),
          ...PLAIN,
          className: "font-mono",
        }),
        <SecretRows
          arePlain
          rows={form.env}
          onChange={(env) => change({ env })}
          legend={mcp("env")}
          hint={t("templates.envHint")}
          nameLabel={mcp("envName")}
          add={mcp("addEnv")}
          areProblemsShown={problems.env !== undefined}
        />,
        <ParameterFields form={form} problem={text(problems.parameters)} change={change} />,
      ]}
      run={(form) => {
        const body = templateBody(form);
        return template
          ? call(api.PUT("/api/v1/mcp/templates/{template_id}", { ...pathOf(template), body }))
          : call(api.POST("/api/v1/mcp/templates", { body }));
      }}
      keys={MCP_KEYS}
      done={common("saved")}
      problem={Refusal}
      onClose={onClose}
    />
  );
}

interface ParameterFieldsProps {
  form: TemplateForm;
  problem: string | undefined;
  change: (changes: Partial<TemplateForm>) => void;
}

/** What users fill in: one card for each place in the template's text. */
function ParameterFields({ form, problem, change }: ParameterFieldsProps) {
  const { t } = useTranslation("mcpAdmin");
  const parameters = parametersOf(form);
  return (
    <fieldset className="grid gap-3">
      <legend className="mb-1.5 text-sm font-medium">{t("templates.parametersTitle")}</legend>
      {parameters.length === 0 && (
        <p className="text-xs text-muted">{t("templates.parametersHint")}</p>
      )}
      {parameters.map((parameter) => (
        <ParameterCard
          key={parameter.name}
          parameter={parameter}
          onChange={(changed) =>
            change({ parameters: { ...form.parameters, [changed.name]: changed } })
          }
        />
      ))}
      {problem !== undefined && (
        <p role="alert" className="text-sm text-danger">
          {problem}
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
      <Fields
        form={{ ...parameter, pattern: parameter.pattern ?? "" }}
        change={(changes) => onChange({ ...parameter, ...changes })}
        fields={[
          row([
            input("description", t("templates.parameterDescription")),
            input("pattern", t("templates.pattern"), {
              hint: t("templates.patternHint"),
              className: "font-mono",
              spellCheck: false,
            }),
          ]),
        ]}
      />
    </div>
  );
}
