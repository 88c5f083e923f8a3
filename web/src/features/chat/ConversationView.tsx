/** A conversation: its header, its turns, the state of its connection, and the composer. */

import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { LogIn, MessageCircleQuestion, Unplug, WifiOff } from "lucide-react";
import {
  useCallback,
  useEffect,
  useRef,
  useState,
  useSyncExternalStore,
  type ReactNode,
} from "react";
import { useTranslation } from "react-i18next";

import { tellSignedOut } from "@/api/client";
import { Button } from "@/components/ui/Button";
import { EmptyState, ErrorState, LoadingState } from "@/components/ui/States";
import { toast } from "@/components/ui/toast";
import type { LinkStatus } from "@/events/link";
import { activeTurn, type Turn } from "@/events/state";
import { Composer, type ComposerHandle } from "@/features/composer/Composer";
import { ConversationMenu } from "@/features/conversations/ConversationMenu";
import { conversationQuery } from "@/features/conversations/queries";
import { useErrorText } from "@/lib/errorText";
import { usePageTitle } from "@/lib/pageTitle";

import { useStandingApprovals } from "./answer/approval/standing";
import { ModelNote, Welcome } from "./NewChat";
import { Transcript } from "./Transcript";
import { useConversation } from "./useConversation";

/** One conversation: what was said, the state of the connection, the composer. */
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

interface ConversationHeaderProps {
  conversationId: string;
  /** Whether the server has it already. */
  isStored: boolean;
}

/** The title of the conversation, and what can be done with it. */
function ConversationHeader({ conversationId, isStored }: ConversationHeaderProps) {
  const { t } = useTranslation("chat");
  const conversation = useQuery({ ...conversationQuery(conversationId), enabled: isStored }).data;
  const title = conversation?.title ?? t("newTitle");
  usePageTitle(title);
  return (
    <header className="flex h-11 shrink-0 items-center gap-2 border-b border-line px-4">
      <h1 className="min-w-0 truncate text-sm font-medium">{title}</h1>
      {conversation && <ConversationMenu conversation={conversation} />}
    </header>
  );
}

const QUIET_MS = 1500;

/** A quiet line while the connection is not there. What was asked and answered stays. */
function LinkNote({ status }: { status: LinkStatus }) {
  const { t } = useTranslation("chat");
  const isOnline = useIsOnline();
  const isLate = useIsLate(status !== "open");
  if (!isOnline) return <Note icon={WifiOff} text={t("offlineBrowser")} />;
  if (status === "signed_out") {
    return (
      <Note
        icon={LogIn}
        text={t("signedOut")}
        action={
          <Button size="small" onClick={tellSignedOut}>
            {t("signInAgain")}
          </Button>
        }
      />
    );
  }
  return isLate ? <Note icon={Unplug} text={t("lost")} /> : null;
}

interface NoteProps {
  icon: typeof Unplug;
  text: string;
  action?: ReactNode;
}

function Note({ icon: Icon, text, action }: NoteProps) {
  return (
    <div role="status" className="flex items-center justify-center gap-2 pb-2 text-sm text-muted">
      <Icon className="size-4 shrink-0" aria-hidden />
      <span>{text}</span>
      {action}
    </div>
  );
}

/** Whether something has been so for a while: short interruptions are nobody's business. */
function useIsLate(isSo: boolean): boolean {
  const [isLate, setIsLate] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setIsLate(isSo), isSo ? QUIET_MS : 0);
    return () => clearTimeout(timer);
  }, [isSo]);
  return isSo && isLate;
}

function onNetwork(listener: () => void): () => void {
  window.addEventListener("online", listener);
  window.addEventListener("offline", listener);
  return () => {
    window.removeEventListener("online", listener);
    window.removeEventListener("offline", listener);
  };
}

function useIsOnline(): boolean {
  return useSyncExternalStore(onNetwork, () => navigator.onLine);
}

/** The address of a conversation that is not this user's, or not there. */
function MissingConversation() {
  const { t } = useTranslation("chat");
  return (
    <div className="grid h-full place-items-center">
      <h1 className="sr-only">{t("log")}</h1>
      <EmptyState
        icon={MessageCircleQuestion}
        title={t("missingTitle")}
        text={t("missingText")}
        action={
          <Link to="/" className="text-accent underline">
            {t("startNew")}
          </Link>
        }
      />
    </div>
  );
}
