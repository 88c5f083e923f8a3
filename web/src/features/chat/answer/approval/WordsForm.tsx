/** Words that go with an answer: why not, or what to take instead of the call's result. */

import { useState } from "react";
import { useTranslation } from "react-i18next";

import { Field } from "@/components/ui/Field";
import { Textarea } from "@/components/ui/Input";

import { FormButtons } from "./FormButtons";

interface WordsFormProps {
  step: "reject" | "respond";
  isSending: boolean;
  onSend: (message: string) => void;
  onBack: () => void;
}

export function WordsForm({ step, isSending, onSend, onBack }: WordsFormProps) {
  const { t } = useTranslation("answer");
  const [text, setText] = useState("");
  const [problem, setProblem] = useState<string | null>(null);
  const submit = () => {
    const words = text.trim();
    if (step === "respond" && words === "") setProblem(t("form.required"));
    else onSend(words);
  };
  return (
    <form
      className="grid gap-3 rounded-lg border border-line p-3"
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      <Field
        label={t(`approval.words.${step}`)}
        hint={t(`approval.hints.${step}`)}
        {...(problem !== null && { error: problem })}
      >
        {(control) => (
          <Textarea
            {...control}
            autoFocus
            value={text}
            disabled={isSending}
            onChange={(event) => setText(event.target.value)}
          />
        )}
      </Field>
      <div className="flex flex-wrap gap-2">
        <FormButtons
          text={t(step === "reject" ? "approval.reject" : "approval.sendAnswer")}
          isBusy={isSending}
          isDanger={step === "reject"}
          onBack={onBack}
        />
      </div>
    </form>
  );
}
