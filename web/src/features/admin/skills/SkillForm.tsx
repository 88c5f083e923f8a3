/** The text of a SKILL.md, what is wrong with it, and saving. */

import { useState } from "react";
import { useTranslation } from "react-i18next";

import { Field } from "@/components/ui/Field";
import { FormDialog } from "@/components/ui/FormDialog";
import { Textarea } from "@/components/ui/Input";
import { focusFirstProblem } from "@/features/mcp/focusProblem";
import { formatNumber } from "@/lib/format";

import { useChange } from "../parts/change";
import { Problem } from "../parts/Problem";
import { SKILL_KEYS, skillStore } from "./queries";
import { MOST_CHARACTERS, skillName } from "./skillText";

interface SkillFormProps {
  /** As it is kept; null: it is new. */
  name: string | null;
  text: string;
  onClose: () => void;
}

export function SkillForm({ name, text, onClose }: SkillFormProps) {
  const { t } = useTranslation("mcpAdmin");
  const [content, setContent] = useState(text);
  const [isTried, setIsTried] = useState(false);
  const found = skillName(content);
  const problem = typeof found === "string" ? found : null;
  const newName = typeof found === "string" ? "" : found.name;
  const save = useChange(() => skillStore.put(newName, content), {
    keys: SKILL_KEYS,
    done: t("skills.saved", { name: newName }),
    onDone: onClose,
  });
  const submit = (element: HTMLFormElement) => {
    setIsTried(true);
    if (problem === null) save.mutate(undefined);
    else focusFirstProblem(element);
  };
  return (
    <FormDialog
      hasOwnChecks
      width="wide"
      title={name === null ? t("skills.addTitle") : t("skills.editTitle", { name })}
      description={t("skills.editorText")}
      isBusy={save.isPending}
      problem={<Problem error={save.error} />}
      note={newName !== "" && <SavedAs name={newName} before={name} />}
      onSubmit={submit}
      onClose={onClose}
    >
      <Field
        label={t("skills.content")}
        hint={`${t("skills.contentHint")} ${t("skills.characters", {
          count: content.length,
          most: formatNumber(MOST_CHARACTERS),
        })}`}
        error={isTried && problem !== null ? t(`skills.problems.${problem}`) : null}
      >
        {(control) => (
          <Textarea
            {...control}
            rows={18}
            spellCheck
            className="font-mono text-[13px] leading-relaxed"
            value={content}
            onChange={(event) => setContent(event.target.value)}
          />
        )}
      </Field>
    </FormDialog>
  );
}

function SavedAs({ name, before }: { name: string; before: string | null }) {
  const { t } = useTranslation("mcpAdmin");
  return before === null || before === name
    ? t("skills.willBe", { name })
    : t("skills.renamed", { name, before });
}
