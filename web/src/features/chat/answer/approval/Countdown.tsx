/** How long a request can still be answered. */

import { Timer } from "lucide-react";
import { useTranslation } from "react-i18next";

import { useNow } from "../useNow";

export function Countdown({ expiresAt }: { expiresAt: number }) {
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
