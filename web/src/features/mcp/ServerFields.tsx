/** The fields of an MCP server, own or shared: its name, how it is reached, its time limits. */

import { useId } from "react";
import { useTranslation } from "react-i18next";

import { Banner } from "@/components/ui/Banner";
import { Button } from "@/components/ui/Button";
import { Field, Input, Select } from "@/components/ui/Field";
import { classes } from "@/lib/classes";

import { parseCommandLine } from "./commandLine";
import type { Template } from "./queries";
import { SecretRows } from "./SecretRows";
import {
  EXAMPLES,
  withExample,
  type ExampleName,
  type FormProblem,
  type FormProblems,
  type KnownServer,
  type ServerForm,
  type UrlTransport,
  type Way,
} from "./serverForm";

interface WayProps {
  form: ServerForm;
  problems: FormProblems;
  onChange: (changes: Partial<ServerForm>) => void;
  templates: Template[];
  known: KnownServer | null;
}

const FIELDS = { url: UrlFields, command: CommandFields, template: TemplateFields } as const;
const EXAMPLE_NAMES = Object.keys(EXAMPLES) as ExampleName[]; // the keys of a constant

interface ConnectionFieldsProps extends WayProps {
  ways: Way[];
}

/**
 * How a server is reached: the way, then the fields of that way. Own and shared servers have it.
 */
export function ConnectionFields({ ways, ...props }: ConnectionFieldsProps) {
  const { t } = useTranslation("mcp");
  const { form, onChange } = props;
  const Fields = FIELDS[form.way];
  return (
    <>
      <WayChoice
        legend={t("way")}
        choices={ways.map((value) => ({ value, label: t(`ways.${value}`) }))}
        value={form.way}
        hint={t(`wayHints.${form.way}`)}
        onChange={(way) => onChange({ way })}
      />
      {props.known === null && (
        <div className="flex flex-wrap items-center gap-1.5">
          <span className="text-xs text-muted">{t("examples")}</span>
          {EXAMPLE_NAMES.map((example) => (
            <Button
              key={example}
              size="small"
              variant="ghost"
              className="text-accent"
              onClick={() => onChange(withExample(form, example))}
            >
              {t(`exampleNames.${example}`)}
            </Button>
          ))}
        </div>
      )}
      <Fields {...props} />
    </>
  );
}

const TRANSPORTS: UrlTransport[] = ["auto", "streamable_http", "sse"];

/** A server that is reached at an address. */
function UrlFields({ form, problems, onChange }: WayProps) {
  const { t } = useTranslation("mcp");
  return (
    <>
      <div className="grid gap-4 sm:grid-cols-[1fr_13rem]">
        <Field
          label={t("url")}
          hint={t("urlHint")}
          error={problems.url && t(`problems.${problems.url}`)}
        >
          {(control) => (
            <Input
              {...control}
              type="url"
              inputMode="url"
              autoComplete="off"
              spellCheck={false}
              placeholder="https://mcp.example.com/mcp"
              value={form.url}
              onChange={(event) => onChange({ url: event.target.value })}
            />
          )}
        </Field>
        <Field label={t("transport")}>
          {(control) => (
            <Select
              {...control}
              value={form.transport}
              onChange={(event) => {
                const chosen = TRANSPORTS.find((each) => each === event.target.value);
                if (chosen) onChange({ transport: chosen });
              }}
            >
              {TRANSPORTS.map((each) => (
                <option key={each} value={each}>
                  {t(`transportChoices.${each}`)}
                </option>
              ))}
            </Select>
          )}
        </Field>
      </div>
      <SecretRows
        rows={form.headers}
        onChange={(headers) => onChange({ headers })}
        legend={t("headers")}
        hint={t("headersHint")}
        nameLabel={t("headerName")}
        add={t("addHeader")}
        areProblemsShown={problems.headers !== undefined}
      />
    </>
  );
}

/** A server that is a program: its command line, read as it will be started, and its variables. */
function CommandFields({ form, problems, onChange }: WayProps) {
  const { t } = useTranslation("mcp");
  return (
    <>
      <Field
        label={t("commandLine")}
        hint={
          <>
            {t("commandLineHint")}
            <Words line={form.commandLine} />
          </>
        }
        error={problems.commandLine && t(`problems.${problems.commandLine}`)}
      >
        {(control) => (
          <Input
            {...control}
            className="font-mono"
            autoComplete="off"
            spellCheck={false}
            placeholder="mcp-server-time --local-timezone=Europe/Berlin"
            value={form.commandLine}
            onChange={(event) => onChange({ commandLine: event.target.value })}
          />
        )}
      </Field>
      <SecretRows
        rows={form.env}
        onChange={(env) => onChange({ env })}
        legend={t("env")}
        hint={t("envHint")}
        nameLabel={t("envName")}
        add={t("addEnv")}
        areProblemsShown={problems.env !== undefined}
      />
    </>
  );
}

/** The program and each argument as one box, so that a missing quote is seen. */
export function Words({ line }: { line: string }) {
  const { t } = useTranslation("mcp");
  const parsed = parseCommandLine(line);
  if (typeof parsed === "string") return null;
  return (
    <span className="mt-1.5 flex flex-wrap items-center gap-1">
      <span>{t("program")}</span>
      <Word text={parsed.command} />
      {parsed.args.length > 0 && <span className="ml-1">{t("arguments")}</span>}
      {parsed.args.map((arg, at) => (
        <Word key={at} text={arg} />
      ))}
    </span>
  );
}

function Word({ text }: { text: string }) {
  return (
    <code className="rounded border border-line bg-sunken px-1.5 py-0.5 font-mono text-text [overflow-wrap:anywhere] whitespace-pre-wrap">
      {text === "" ? "''" : text}
    </code>
  );
}

/** A server from an administrator's template: which one, and its parameters. */
function TemplateFields({ form, problems, onChange, templates, known }: WayProps) {
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

interface NameFieldProps {
  name: string;
  problem: FormProblem | undefined;
  onChange: (name: string) => void;
}

/** The name of a server that is being added. Own and shared servers have it. */
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

interface TimeFieldsProps {
  form: ServerForm;
  problems: FormProblems;
  onChange: (changes: Partial<ServerForm>) => void;
}

/** How long connecting and a call may take. */
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

interface WayChoiceProps<Value extends string> {
  legend: string;
  choices: { value: Value; label: string }[];
  value: Value;
  hint?: string;
  onChange: (value: Value) => void;
}

/** One of a few ways, as radio buttons side by side. */
export function WayChoice<Value extends string>(props: WayChoiceProps<Value>) {
  const name = useId();
  return (
    <fieldset className="grid gap-1.5">
      <legend className="mb-1.5 text-sm font-medium">{props.legend}</legend>
      <div className="inline-flex w-fit max-w-full flex-wrap gap-1 rounded-lg bg-sunken p-1">
        {props.choices.map(({ value, label }) => (
          <label
            key={value}
            className={classes(
              "cursor-pointer rounded-md px-3 py-1 text-sm has-focus-visible:outline-2 has-focus-visible:outline-accent",
              value === props.value ? "bg-raised font-medium shadow-sm" : "text-muted",
            )}
          >
            <input
              type="radio"
              name={name}
              value={value}
              checked={value === props.value}
              onChange={() => props.onChange(value)}
              className="sr-only"
            />
            {label}
          </label>
        ))}
      </div>
      {props.hint !== undefined && <p className="text-xs text-muted">{props.hint}</p>}
    </fieldset>
  );
}
