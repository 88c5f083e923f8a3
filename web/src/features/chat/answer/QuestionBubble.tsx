/** What the user asked, as it was typed. */

import { Bot, Paperclip, Pencil, Sparkles, type LucideIcon } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";

import { Button } from "@/components/ui/Button";
import { CopyButton } from "@/components/ui/CopyButton";
import { IconButton } from "@/components/ui/IconButton";
import type { Question } from "@/events/state";

import { useAgentName } from "./useAgentName";
import { cut } from "./values";

const FEW_LINES = 16;
const FEW_CHARACTERS = 1500;

export function QuestionBubble({ question, onEdit }: { question: Question; onEdit: () => void }) {
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
