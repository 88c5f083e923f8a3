/** The answers that a request takes, as buttons. */

import { useTranslation } from "react-i18next";

import { Button } from "@/components/ui/Button";
import type { ApprovalPart } from "@/events/state";

import { standingKind } from "./kinds";

/** An answer that needs something typed, or a second yes, first. */
export type Step = "edit" | "reject" | "respond" | "always";

interface ChoicesProps {
  part: ApprovalPart;
  isSending: boolean;
  onApprove: () => void;
  onStep: (step: Step) => void;
}

export function Choices({ part, isSending, onApprove, onStep }: ChoicesProps) {
  const { t } = useTranslation("answer");
  const { allowed } = part;
  return (
    <div className="flex flex-wrap gap-2">
      {allowed.includes("approve") && (
        <Button variant="primary" isBusy={isSending} onClick={onApprove}>
          {t("approval.approve")}
        </Button>
      )}
      {standingKind(part) !== null && (
        <Button disabled={isSending} onClick={() => onStep("always")}>
          {t("approval.alwaysApprove")}
        </Button>
      )}
      {allowed.includes("edit") && (
        <Button disabled={isSending} onClick={() => onStep("edit")}>
          {t("approval.edit")}
        </Button>
      )}
      {allowed.includes("respond") && (
        <Button disabled={isSending} onClick={() => onStep("respond")}>
          {t("approval.respond")}
        </Button>
      )}
      {allowed.includes("reject") && (
        <Button variant="danger" disabled={isSending} onClick={() => onStep("reject")}>
          {t("approval.reject")}
        </Button>
      )}
    </div>
  );
}
