/** A call that waits for a yes: approve, always, change, answer instead, reject. */

import { useState } from "react";
import { useTranslation } from "react-i18next";

import type { ApprovalPart } from "@/events/state";

import { kindWords, toolWords } from "../toolWords";
import { useTurn } from "../turnContext";
import { ArgsForm } from "./ArgsForm";
import { Choices, type Step } from "./Choices";
import { FormButtons } from "./FormButtons";
import { ALWAYS_NOTE, standingKind } from "./kinds";
import { RequestFrame } from "./RequestFrame";
import { addStanding } from "./standing";
import { useDecision } from "./useDecision";
import { WhatWouldHappen } from "./WhatWouldHappen";
import { WordsForm } from "./WordsForm";

export function ApprovalRequest({ part }: { part: ApprovalPart }) {
  const { t } = useTranslation("answer");
  const { conversationId } = useTurn();
  const { isSending, problem, send } = useDecision(part);
  const [step, setStep] = useState<Step | null>(null);
  const { name, args, args_schema: schema } = part.action;
  const back = () => setStep(null);
  const kind = standingKind(part);
  const always = (confirmed: string) => {
    addStanding(conversationId, confirmed);
    send({ type: "approve", message: ALWAYS_NOTE });
  };
  return (
    <RequestFrame
      part={part}
      title={t("approval.title", { tool: toolWords(name, t) })}
      problem={problem}
    >
      {step === "edit" ? (
        <ArgsForm
          schema={schema}
          args={args}
          label={t("approval.edit")}
          isDisabled={isSending}
          onSubmit={(edited) => send({ type: "edit", edited_action: { name, args: edited } })}
        >
          <FormButtons text={t("approval.approveEdited")} isBusy={isSending} onBack={back} />
        </ArgsForm>
      ) : (
        <WhatWouldHappen action={part.action} />
      )}
      {step === null && (
        <Choices
          part={part}
          isSending={isSending}
          onApprove={() => send({ type: "approve" })}
          onStep={setStep}
        />
      )}
      {step === "always" && kind !== null && (
        <form
          className="grid gap-3 rounded-lg border border-line p-3"
          onSubmit={(event) => {
            event.preventDefault();
            always(kind);
          }}
        >
          <p className="text-sm [overflow-wrap:anywhere]">
            {t("approval.alwaysQuestion", { kind: kindWords(kind, t) })}
          </p>
          <p className="text-xs text-muted">{t("approval.alwaysHint")}</p>
          <div className="flex flex-wrap gap-2">
            <FormButtons text={t("approval.alwaysConfirm")} isBusy={isSending} onBack={back} />
          </div>
        </form>
      )}
      {(step === "reject" || step === "respond") && (
        <WordsForm
          key={step}
          step={step}
          isSending={isSending}
          onSend={(message) => send(message === "" ? { type: step } : { type: step, message })}
          onBack={back}
        />
      )}
    </RequestFrame>
  );
}
