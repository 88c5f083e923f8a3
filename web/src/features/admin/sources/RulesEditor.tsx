/** The rules of a policy as JSON, with an example and a way to name users without knowing ids. */

import { useTranslation } from "react-i18next";

import { CodeBlock } from "@/components/CodeBlock";
import { Field } from "@/components/ui/Field";
import { Textarea } from "@/components/ui/Input";

import { usePeople } from "../parts/people";
import { UserSelect } from "../parts/UserSelect";
import { EXAMPLE, rulesOf, textOf, usersOf, withSubject } from "./rules";

interface RulesEditorProps {
  text: string;
  problem: string | null;
  onChange: (text: string) => void;
}

export function RulesEditor({ text, problem, onChange }: RulesEditorProps) {
  const { t } = useTranslation("admin");
  const people = usePeople();
  const parsed = rulesOf(text);
  const named = "rules" in parsed ? usersOf(parsed.rules) : [];
  const names = people.filter((each) => named.includes(each.id)).map((each) => each.username);
  const add = (userId: string) => {
    if ("rules" in parsed && userId !== "")
      onChange(textOf(withSubject(parsed.rules, "users", userId)));
  };
  return (
    <>
      <Field label={t("policies.rules")} hint={t("policies.rulesHint")} error={problem}>
        {(control) => (
          <Textarea
            {...control}
            className="min-h-64 font-mono text-[13px]"
            value={text}
            required
            spellCheck={false}
            onChange={(event) => onChange(event.target.value)}
          />
        )}
      </Field>
      <Field
        label={t("policies.addUser")}
        hint={
          names.length > 0
            ? t("policies.users", { names: names.join(", ") })
            : t("policies.addUserHint")
        }
      >
        {(control) => (
          <UserSelect
            control={control}
            value=""
            empty={t("policies.chooseUser")}
            without={named}
            onChange={add}
          />
        )}
      </Field>
      <details className="text-sm">
        <summary className="text-accent">{t("policies.example")}</summary>
        <div className="mt-2 grid gap-2">
          <p className="text-muted">{t("policies.exampleText")}</p>
          <CodeBlock code={textOf(EXAMPLE)} language="json" label={t("policies.example")} />
        </div>
      </details>
    </>
  );
}
