/** The frame of an open request: what it is, how long it waits, what went wrong. */

import { MessageCircleQuestionMark, ShieldQuestionMark } from "lucide-react";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";

import { Banner } from "@/components/ui/Banner";
import { isQuestion, type ApprovalPart } from "@/events/state";

import { approvalWords } from "../toolWords";
import { Countdown } from "./Countdown";

interface RequestFrameProps {
  part: ApprovalPart;
  title: string;
  problem: string | null;
  children: ReactNode;
}

export function RequestFrame({ part, title, problem, children }: RequestFrameProps) {
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
