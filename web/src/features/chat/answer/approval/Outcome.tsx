/** How a request was answered. */

import { CircleCheck, CircleSlash, MessageSquare, Pencil, type LucideIcon } from "lucide-react";
import { useTranslation } from "react-i18next";

import { Button } from "@/components/ui/Button";
import { isQuestion, type ApprovalPart } from "@/events/state";
import type { DecisionType } from "@/events/types";

import { Arguments } from "../Arguments";
import { Fold } from "../Fold";
import { useTurn } from "../turnContext";
import { approvalWords, toolWords } from "../words";
import { approvedHow, removeStanding, useStandingKinds } from "./standing";

const LOOKS: Record<DecisionType, { icon: LucideIcon; look: string }> = {
  approve: { icon: CircleCheck, look: "text-good" },
  edit: { icon: Pencil, look: "text-good" },
  respond: { icon: MessageSquare, look: "text-accent" },
  reject: { icon: CircleSlash, look: "text-danger" },
};

export function Outcome({ part }: { part: ApprovalPart }) {
  const { t } = useTranslation("answer");
  const { action, decision } = part;
  const { icon: Icon, look } = LOOKS[decision?.type ?? "approve"];
  const kind = isQuestion(part) ? "questions" : "outcomes";
  const words =
    decision === null ? t("approval.elsewhere") : t(`approval.${kind}.${decision.type}`);
  const how = approvedHow(decision);
  return (
    <Fold
      id={part.key}
      className="rounded-xl border border-line bg-raised px-2.5 py-0.5"
      title={
        <>
          <Icon
            className={`size-4 shrink-0 ${decision === null ? "text-muted" : look}`}
            aria-hidden
          />
          <span className="min-w-0 truncate font-medium">
            {how === "byHand" ? words : t(`approval.${how}`)}
          </span>
          <span className="min-w-0 flex-1 truncate text-muted">{toolWords(action.name, t)}</span>
        </>
      }
      actions={how !== "byHand" && action.kind && <AskAgainNextTime kind={action.kind} />}
    >
      <div className="grid grid-cols-1 gap-1 border-t border-line pt-1.5 pb-2 text-sm">
        <p className="[overflow-wrap:anywhere] whitespace-pre-wrap text-muted">
          {approvalWords(action, t)}
        </p>
        <Arguments tool={action.name} args={decision?.edited_action?.args ?? action.args} />
        {decision?.message && how === "byHand" && (
          <p className="[overflow-wrap:anywhere] whitespace-pre-wrap">
            {t("approval.said", { text: decision.message })}
          </p>
        )}
      </div>
    </Fold>
  );
}

function AskAgainNextTime({ kind }: { kind: string }) {
  const { t } = useTranslation("answer");
  const { conversationId } = useTurn();
  if (!useStandingKinds(conversationId).includes(kind)) return null;
  return (
    <Button size="small" variant="ghost" onClick={() => removeStanding(conversationId, kind)}>
      {t("approval.askAgain")}
    </Button>
  );
}
