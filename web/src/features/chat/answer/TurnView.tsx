/** A turn: the question, and its answer or why it was not sent. */

import {
  Bot,
  CircleAlert,
  LoaderCircle,
  Paperclip,
  Pencil,
  Sparkles,
  type LucideIcon,
} from "lucide-react";
import { memo, useMemo, useState } from "react";
import { useTranslation } from "react-i18next";

import { Button, IconButton } from "@/components/ui/Button";
import { CopyButton } from "@/components/ui/CopyButton";
import type { LinkStatus } from "@/events/link";
import type { Question, Turn } from "@/events/state";

import type { Conversation } from "../useConversation";
import { Answer } from "./Answer";
import { StandingList } from "./approval/standing";
import { TurnContext, type TurnContextValue } from "./turnContext";
import { cut } from "./values";
import { useAgentName } from "./words";

interface TurnViewProps {
  turn: Turn;
  conversation: Conversation;
  isLast: boolean;
  /** Put a question back into the composer to change it; one that was refused is withdrawn. */
  onEdit: (turn: Turn) => void;
}

/** A question and its answer. */
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

const FEW_LINES = 16;
const FEW_CHARACTERS = 1500;

/** What the user asked, as it was typed. */
function QuestionBubble({ question, onEdit }: { question: Question; onEdit: () => void }) {
  const { t } = useTranslation("answer");
  const agent = useAgentName(question.agentId);
  return (
    <div className="group flex flex-col items-end gap-1">
      <div className="max-w-[85%] min-w-0 rounded-xl bg-sunken px-4 py-2.5">
        <h2 className="sr-only">{t("you")}</h2>
        <QuestionWords text={question.content} />
        <Extras question={question} agent={agent} />
      </div>
      <div className="flex opacity-0 transition-opacity group-focus-within:opacity-100 group-hover:opacity-100 [@media(hover:none)]:opacity-100">
        <CopyButton text={question.content} label={t("copyQuestion")} />
        <IconButton isSmall icon={Pencil} label={t("editQuestion")} onClick={onEdit} />
      </div>
    </div>
  );
}

/** Long questions, such as pasted lists, are shown in part. */
function QuestionWords({ text }: { text: string }) {
  const { t } = useTranslation("answer");
  const [isWhole, setIsWhole] = useState(false);
  const few = cut(text, FEW_LINES, FEW_CHARACTERS);
  const isCut = few.length < text.length;
  return (
    <>
      <p className="[overflow-wrap:anywhere] whitespace-pre-wrap">
        {isWhole || !isCut ? text : `${few}…`}
      </p>
      {isCut && (
        <Button size="small" variant="ghost" onClick={() => setIsWhole(!isWhole)}>
          {isWhole ? t("showLess") : t("showWhole")}
        </Button>
      )}
    </>
  );
}

function Extras({ question, agent }: { question: Question; agent: string }) {
  const { t } = useTranslation("answer");
  if (question.attachments.length === 0 && question.skill === null && agent === "") return null;
  return (
    <ul className="mt-2 flex flex-wrap gap-1.5" aria-label={t("with")}>
      {question.attachments.map((file) => (
        <Extra key={file.fileId} icon={Paperclip} text={file.filename} />
      ))}
      {question.skill !== null && <Extra icon={Sparkles} text={`/${question.skill}`} />}
      {agent !== "" && <Extra icon={Bot} text={agent} />}
    </ul>
  );
}

function Extra({ icon: Icon, text }: { icon: LucideIcon; text: string }) {
  return (
    <li className="flex max-w-full items-center gap-1 rounded-full border border-line bg-raised px-2 py-0.5 text-xs">
      <Icon className="size-3.5 shrink-0 text-muted" aria-hidden />
      <span className="min-w-0 truncate">{text}</span>
    </li>
  );
}

interface NotSentYetProps {
  turn: Turn;
  link: LinkStatus;
  onSendAgain: () => void;
  onEdit: () => void;
  onDiscard: () => void;
}

/** A question that the server has not taken: on its way, or refused. */
function NotSentYet({ turn, link, onSendAgain, onEdit, onDiscard }: NotSentYetProps) {
  const { t } = useTranslation("answer");
  if (turn.refusal === null) {
    return (
      <p role="status" className="flex items-center justify-end gap-1.5 text-xs text-muted">
        <LoaderCircle className="size-3.5 animate-spin" aria-hidden />
        {link === "open" || link === "connecting" ? t("sending") : t("notSent")}
      </p>
    );
  }
  const { error, code, retryAfter } = turn.refusal;
  return (
    <div
      role="alert"
      className="ml-auto grid max-w-[85%] gap-2 rounded-xl border border-danger/40 bg-danger-soft px-3.5 py-2.5 text-sm"
    >
      <p className="flex gap-2 [overflow-wrap:anywhere]">
        <CircleAlert className="mt-0.5 size-4 shrink-0 text-danger" aria-hidden />
        <span>
          {t("refused")} {code === "session_busy" ? t("busy") : error}
          {retryAfter !== null && ` ${t("retryAfter", { count: Math.ceil(retryAfter) })}`}
        </span>
      </p>
      <div className="flex flex-wrap justify-end gap-2">
        <Button size="small" variant="ghost" onClick={onDiscard}>
          {t("discard")}
        </Button>
        <Button size="small" onClick={onEdit}>
          {t("editQuestion")}
        </Button>
        <Button size="small" variant="primary" onClick={onSendAgain}>
          {t("sendAgain")}
        </Button>
      </div>
    </div>
  );
}
