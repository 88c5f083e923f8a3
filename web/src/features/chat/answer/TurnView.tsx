/** A question and its answer. */

import { memo, useMemo } from "react";
import { useTranslation } from "react-i18next";

import type { Turn } from "@/events/state";

import type { Conversation } from "../useConversation";
import { Answer } from "./Answer";
import { StandingList } from "./approval/StandingList";
import { NotSentYet } from "./NotSentYet";
import { QuestionBubble } from "./QuestionBubble";
import { TurnContext, type TurnContextValue } from "./turnContext";

export interface TurnViewProps {
  turn: Turn;
  conversation: Conversation;
  isLast: boolean;
  /** Put a question back into the composer to change it; one that was refused is withdrawn. */
  onEdit: (turn: Turn) => void;
}

export const TurnView = memo(function TurnView(props: TurnViewProps) {
  const { turn, conversation, isLast, onEdit } = props;
  const { t } = useTranslation("answer");
  const { question } = turn;
  const context = useTurnContext(turn, conversation, isLast);
  const withdraw = () =>
    turn.clientMessageId !== null && conversation.withdraw(turn.clientMessageId);
  return (
    <TurnContext value={context}>
      <article aria-label={t("turn")} className="grid min-w-0 grid-cols-1 gap-2">
        {question && <QuestionBubble question={question} onEdit={() => onEdit(turn)} />}
        {turn.status === "sending" || turn.status === "refused" ? (
          <NotSentYet
            turn={turn}
            link={conversation.link}
            onDiscard={withdraw}
            onEdit={() => onEdit(turn)}
            onSendAgain={() => {
              withdraw();
              if (question) conversation.ask(question);
            }}
          />
        ) : (
          <Answer turn={turn} />
        )}
        {isLast && <StandingList conversationId={conversation.id} />}
        {isLast && <Status turn={turn} />}
      </article>
    </TurnContext>
  );
}, isSame);

/** Of a conversation its functions, which stay the same, and the connection while it sends. */
function isSame(before: TurnViewProps, after: TurnViewProps): boolean {
  return (
    before.turn === after.turn &&
    before.isLast === after.isLast &&
    before.conversation.id === after.conversation.id &&
    (before.conversation.link === after.conversation.link || after.turn.status !== "sending")
  );
}

function useTurnContext(turn: Turn, conversation: Conversation, isLast: boolean): TurnContextValue {
  const { id: conversationId, decide, ask } = conversation;
  const { id: turnId, runId, question } = turn;
  const isRunning = turn.status === "running";
  const canAsk = isLast && turn.end !== null;
  return useMemo(
    () => ({
      conversationId,
      turnId,
      isRunning,
      decide: async (requestId, decision) => {
        if (runId !== null) await decide(runId, requestId, decision);
      },
      askAgain: canAsk && question ? () => ask({ ...question, messageId: null }) : null,
    }),
    [conversationId, turnId, isRunning, runId, canAsk, question, decide, ask],
  );
}

/** How the answer stands, for those who do not see it: said when it changes, not with each word. */
function Status({ turn }: { turn: Turn }) {
  const { t } = useTranslation("answer");
  const isWaiting =
    turn.status === "running" &&
    turn.parts.some((part) => part.kind === "approval" && part.state === "open");
  return (
    <p role="status" className="sr-only">
      {t(`statuses.${isWaiting ? "waiting" : turn.status}`)}
    </p>
  );
}
