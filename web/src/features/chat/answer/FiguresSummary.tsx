/** How many of an answer's figures are backed by data. */

import { CircleAlert, ShieldCheck } from "lucide-react";
import { useTranslation } from "react-i18next";

import type { Figures } from "@/events/types";

export function FiguresSummary({ figures }: { figures: Figures }) {
  const { t } = useTranslation("answer");
  const verified = figures.verified.length;
  const unbacked = figures.unbacked.length;
  if (verified + unbacked === 0 && figures.is_complete) return null;
  const isGood = unbacked === 0 && figures.is_complete;
  const Icon = isGood ? ShieldCheck : CircleAlert;
  const words = [
    verified > 0 && t("figures.verified", { count: verified }),
    unbacked > 0 && t("figures.unbacked", { count: unbacked }),
    !figures.is_complete && t("figures.incomplete"),
  ].filter((each) => each !== false);
  return (
    <p className="flex items-center gap-1.5 text-xs text-muted">
      <Icon className={`size-4 shrink-0 ${isGood ? "text-good" : "text-warn"}`} aria-hidden />
      {words.join(t("figures.between"))}
    </p>
  );
}
