/** A question that the server has not taken: on its way, or refused. */

import { CircleAlert, LoaderCircle } from "lucide-react";
import { useTranslation } from "react-i18next";

import { Button } from "@/components/ui/Button";
import type { LinkStatus } from "@/events/link";
import type { Turn } from "@/events/state";

interface NotSentYetProps {
  turn: Turn;
  link: LinkStatus;
  onSendAgain: () => void;
  onEdit: () => void;
  onDiscard: () => void;
}

export function NotSentYet({ turn, link, onSendAgain, onEdit, onDiscard }: NotSentYetProps) {
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
