/** A call that waits for a decision, a question in the middle of a call, and how they ended. */

import { MessageCircleQuestionMark, ShieldQuestionMark, Timer } from "lucide-react";
import { memo, useState, type ReactNode } from "react";
import { useTranslation } from "react-i18next";

import { Banner } from "@/components/ui/Banner";
import { Button } from "@/components/ui/Button";
import { Field, Textarea } from "@/components/ui/Field";
import { isQuestion, type ApprovalPart } from "@/events/state";
import type { ActionRequest, Decision } from "@/events/types";
import { useErrorText } from "@/lib/errorText";

import { useNow } from "../../../../lib/clock";
import { Arguments } from "../Arguments";
import { DiffView } from "../DiffView";
import { useTurn } from "../turnContext";
import { approvalWords, kindWords, toolWords } from "../words";
import { ArgsForm } from "./ArgsForm";
import { Outcome } from "./Outcome";
import { addStanding, ALWAYS_NOTE, standingKind } from "./standing";

/** A request that waits for a person: what will be done, and every answer that it takes. */
export const ApprovalCard = memo(function ApprovalCard({ part }: { part: ApprovalPart }) {
  const { isRunning } = useTurn();
  const isOpen = isRunning && (part.state === "open" || part.state === "sending");
  if (!isOpen) return <Outcome part={part} />;
  return isQuestion(part) ? <QuestionRequest part={part} /> : <ApprovalRequest part={part} />;
});

/** A call that waits for a yes: approve, always, change, answer instead, reject. */
function ApprovalRequest({ part }: { part: ApprovalPart }) {
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

/** A question in the middle of a call, as a form: answered or declined, the run goes on. */
function QuestionRequest({ part }: { part: ApprovalPart }) {
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

interface RequestFrameProps {
  part: ApprovalPart;
  title: string;
  problem: string | null;
  children: ReactNode;
}

/** The frame of an open request: what it is, how long it waits, what went wrong. */
function RequestFrame({ part, title, problem, children }: RequestFrameProps) {
  const { t } = useTranslation("answer");
  const Icon = isQuestion(part) ? MessageCircleQuestionMark : ShieldQuestionMark;
  return (
    <section
      aria-label={title}
      className="grid min-w-0 grid-cols-1 gap-2.5 rounded-xl border border-warn/60 bg-raised p-3.5"
    >
      <div className="flex items-center gap-2">
        <Icon className="size-5 shrink-0 text-warn" aria-hidden />
        <h3 className="min-w-0 flex-1 font-medium">{title}</h3>
        {part.expiresAt !== null && <Countdown expiresAt={part.expiresAt} />}
      </div>
      <p className="text-sm [overflow-wrap:anywhere] whitespace-pre-wrap">
        {approvalWords(part.action, t)}
      </p>
      {problem !== null && <Banner kind="danger">{problem}</Banner>}
      {children}
    </section>
  );
}

/** How long a request can still be answered. */
function Countdown({ expiresAt }: { expiresAt: number }) {
  const { t } = useTranslation("answer");
  const left = Math.floor(expiresAt - useNow(true));
  const minutes = Math.floor(Math.max(0, left) / 60);
  const seconds = String(Math.max(0, left) % 60).padStart(2, "0");
  return (
    <span
      role="timer"
      className={`flex shrink-0 items-center gap-1 text-xs tabular-nums ${left < 30 ? "text-danger" : "text-muted"}`}
    >
      <Timer className="size-3.5" aria-hidden />
      {left > 0 ? t("approval.left", { time: `${minutes}:${seconds}` }) : t("approval.expired")}
    </span>
  );
}

/** What a call would do: the change it makes to a file, otherwise its arguments. */
function WhatWouldHappen({ action }: { action: ActionRequest }) {
  const { name, args, diff } = action;
  const path = args["file_path"] ?? args["path"];
  if (!diff || typeof path !== "string") return <Arguments tool={name} args={args} />;
  return (
    <div className="grid min-w-0 grid-cols-1 gap-1.5">
      <p className="font-mono text-[13px] [overflow-wrap:anywhere]">{path}</p>
      <DiffView diff={diff} path={path} />
    </div>
  );
}

/** An answer that needs something typed, or a second yes, first. */
type Step = "edit" | "reject" | "respond" | "always";

interface ChoicesProps {
  part: ApprovalPart;
  isSending: boolean;
  onApprove: () => void;
  onStep: (step: Step) => void;
}

/** The answers that a request takes, as buttons. */
function Choices({ part, isSending, onApprove, onStep }: ChoicesProps) {
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

interface WordsFormProps {
  step: "reject" | "respond";
  isSending: boolean;
  onSend: (message: string) => void;
  onBack: () => void;
}

/** Words that go with an answer: why not, or what to take instead of the call's result. */
function WordsForm({ step, isSending, onSend, onBack }: WordsFormProps) {
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

interface FormButtonsProps {
  text: string;
  isBusy: boolean;
  isDanger?: boolean;
  onBack: () => void;
}

/** Submit a form, or go back to the choices. */
function FormButtons({ text, isBusy, isDanger = false, onBack }: FormButtonsProps) {
  const { t } = useTranslation();
  return (
    <>
      <Button type="submit" variant={isDanger ? "danger" : "primary"} isBusy={isBusy}>
        {text}
      </Button>
      <Button variant="ghost" disabled={isBusy} onClick={onBack}>
        {t("back")}
      </Button>
    </>
  );
}

interface Deciding {
  isSending: boolean;
  problem: string | null;
  send: (decision: Decision) => void;
}

/** Sending a decision, and what went wrong with it. */
function useDecision(part: ApprovalPart): Deciding {
  const { decide } = useTurn();
  const errorText = useErrorText();
  const [problem, setProblem] = useState<string | null>(null);
  const send = (decision: Decision) => {
    setProblem(null);
    decide(part.requestId, decision).catch((error: unknown) => setProblem(errorText(error)));
  };
  return { isSending: part.state === "sending", problem, send };
}
