/** What went wrong in an answer, and what to do about it. */

import { CircleAlert, RotateCcw } from "lucide-react";
import { memo } from "react";
import { useTranslation } from "react-i18next";

import { Button } from "@/components/ui/Button";
import type { ErrorPart } from "@/events/state";
import type { answer } from "@/i18n/en/answer";

import { useTurn } from "./turnContext";

type KnownCode = keyof (typeof answer)["advice"];

export const ErrorView = memo(function ErrorView({ part }: { part: ErrorPart }) {
  const { t } = useTranslation("answer");
  const { askAgain } = useTurn();
  const otherwise = t(part.recoverable ? "advice.recoverable" : "advice.other");
  const advice: string = t(`advice.${part.code as KnownCode}`, { defaultValue: otherwise }); // codes are open
  return (
    <div
      role="alert"
      className="flex flex-wrap items-start gap-2.5 rounded-xl border border-danger/40 bg-danger-soft px-3.5 py-2.5 text-sm"
    >
      <CircleAlert className="mt-0.5 size-4 shrink-0 text-danger" aria-hidden />
      <div className="min-w-56 flex-1 [overflow-wrap:anywhere]">
        <p className="font-medium">{part.error}</p>
        <p>{advice}</p>
      </div>
      {part.recoverable && askAgain !== null && (
        <Button size="small" onClick={askAgain}>
          <RotateCcw className="size-4" aria-hidden />
          {t("retry")}
        </Button>
      )}
    </div>
  );
});
