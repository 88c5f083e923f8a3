/** A server that is a program: its command line, read as it will be started, and its variables. */

import { useTranslation } from "react-i18next";

import { Field, Input } from "@/components/ui/Field";

import { parseCommandLine } from "./commandLine";
import type { WayProps } from "./ConnectionFields";
import { SecretRows } from "./SecretRows";

export function CommandFields({ form, problems, onChange }: WayProps) {
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
