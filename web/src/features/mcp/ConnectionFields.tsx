/**
 * How a server is reached: the way, then the fields of that way. Own and shared servers have it.
 */

import { useTranslation } from "react-i18next";

import { Button } from "@/components/ui/Button";

import { CommandFields } from "./CommandFields";
import type { Template } from "./queries";
import {
  EXAMPLES,
  withExample,
  type ExampleName,
  type FormProblems,
  type KnownServer,
  type ServerForm,
  type Way,
} from "./serverForm";
import { TemplateFields } from "./TemplateFields";
import { UrlFields } from "./UrlFields";
import { WayChoice } from "./WayChoice";

export interface WayProps {
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
