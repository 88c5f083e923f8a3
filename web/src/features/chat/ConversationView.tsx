/** One conversation: what was said, the state of the connection, the composer. */

import { useCallback, useRef } from "react";
import { useTranslation } from "react-i18next";

import { ErrorState, LoadingState } from "@/components/ui/States";
import { toast } from "@/components/ui/toast";
import { activeTurn, type Turn } from "@/events/state";
import { Composer, type ComposerHandle } from "@/features/composer/Composer";
import { useErrorText } from "@/lib/errorText";

import { useStandingApprovals } from "./answer/approval/useStandingApprovals";
import { ConversationHeader } from "./ConversationHeader";
import { LinkNote } from "./LinkNote";
import { MissingConversation } from "./MissingConversation";
import { ModelNote } from "./ModelNote";
import { Transcript } from "./Transcript";
import { useConversation } from "./useConversation";
import { Welcome } from "./Welcome";

export function ConversationView({ conversationId }: { conversationId: string }) {
  const { t } = useTranslation("chat");
  const errorText = useErrorText();
  const conversation = useConversation(conversationId);
  useStandingApprovals(conversation);
  const composer = useRef<ComposerHandle>(null);
  const { state, link, isLoaded, problem, stop: stopRun } = conversation;
  const stop = useCallback(() => {
    stopRun().catch((error: unknown) =>
      toast(t("stopFailed", { reason: errorText(error) }), { tone: "danger" }),
    );
  }, [stopRun, t, errorText]);

  if (link === "missing" || link === "forbidden") return <MissingConversation />;
  if (problem !== null) {
    return (
      <div className="grid h-full place-items-center">
        <h1 className="sr-only">{t("log")}</h1>
        <ErrorState error={problem} onRetry={conversation.restart} />
      </div>
    );
  }

  const isEmpty = isLoaded && state.turns.length === 0;
  const isRunning = activeTurn(state) !== null;
  const isBusy = isRunning || state.turns.some((turn) => turn.status === "sending");
  const edit = (turn: Turn) => {
    if (turn.question) composer.current?.edit(turn.question);
    if (turn.status === "refused" && turn.clientMessageId !== null) {
      conversation.withdraw(turn.clientMessageId);
    }
  };
  return (
    <div className="flex h-full flex-col">
      {isEmpty ? (
        <ModelNote />
      ) : (
        <ConversationHeader
          conversationId={conversationId}
          isStored={state.turns.some((turn) => turn.runId !== null)}
        />
      )}
      {!isLoaded && (
        <div className="mx-auto w-full max-w-3xl flex-1">
          <LoadingState lines={6} />
        </div>
      )}
      {isEmpty && <Welcome onAsk={conversation.ask} />}
      {isLoaded && !isEmpty && <Transcript conversation={conversation} onEdit={edit} />}
      <div className="mx-auto w-full max-w-3xl px-4 pt-2 pb-3">
        <LinkNote status={link} />
        <Composer
          ref={composer}
          conversationId={conversationId}
          onSend={conversation.ask}
          isBusy={isBusy || !isLoaded}
          onStop={isRunning ? stop : null}
        />
      </div>
    </div>
  );
}
