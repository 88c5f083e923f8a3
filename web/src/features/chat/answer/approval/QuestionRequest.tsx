/** A question in the middle of a call, as a form: answered or declined, the run goes on. */

import { useTranslation } from "react-i18next";

import { Button } from "@/components/ui/Button";
import type { ApprovalPart } from "@/events/state";

import { ArgsForm } from "./ArgsForm";
import { RequestFrame } from "./RequestFrame";
import { useDecision } from "./useDecision";

export function QuestionRequest({ part }: { part: ApprovalPart }) {
  const { t } = useTranslation("answer");
  const { isSending, problem, send } = useDecision(part);
  const { name, args, args_schema: schema } = part.action;
  const title = t("approval.question");
  return (
    <RequestFrame part={part} title={title} problem={problem}>
      <ArgsForm
        schema={schema}
        args={args}
        label={title}
        isDisabled={isSending}
        onSubmit={(filled) => send({ type: "edit", edited_action: { name, args: filled } })}
      >
        <Button type="submit" variant="primary" isBusy={isSending}>
          {t("approval.sendAnswer")}
        </Button>
        {part.allowed.includes("reject") && (
          <Button disabled={isSending} onClick={() => send({ type: "reject" })}>
            {t("approval.decline")}
          </Button>
        )}
      </ArgsForm>
    </RequestFrame>
  );
}
