/** A figure in an answer, marked as verified or unbacked; a click shows why. */

import { BadgeCheck, CircleHelp } from "lucide-react";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";

import { Popover } from "@/components/ui/Popover";
import type { UnbackedFigure, VerifiedFigure } from "@/events/types";
import { classes } from "@/lib/classes";

import { whyKey } from "./figure/evidence";
import { FigureEvidence } from "./figure/FigureEvidence";

export type MarkedFigure =
  { isVerified: true; figure: VerifiedFigure } | { isVerified: false; figure: UnbackedFigure };

export function FigureMark({ marked, children }: { marked: MarkedFigure; children: ReactNode }) {
  const { t } = useTranslation("results");
  const { isVerified, figure } = marked;
  const Icon = isVerified ? BadgeCheck : CircleHelp;
  const state = isVerified ? t("figure.verified") : t("figure.unbacked");
  return (
    <Popover
      label={t("figure.title", { text: figure.text })}
      trigger={
        <button
          type="button"
          title={state}
          className={classes(
            "rounded-xs underline decoration-1 underline-offset-4",
            isVerified ? "decoration-good/70" : "decoration-warn decoration-wavy",
            isVerified ? "hover:bg-good-soft" : "hover:bg-warn-soft",
          )}
        >
          {children}
          <span className="sr-only"> ({state})</span>
        </button>
      }
    >
      <div className="grid min-w-0 gap-2">
        <h3
          className={classes(
            "flex items-center gap-1.5 font-medium",
            isVerified ? "text-good" : "text-warn",
          )}
        >
          <Icon className="size-4 shrink-0" aria-hidden />
          <span className="tabular-nums">{figure.text}</span>
          <span>· {state}</span>
        </h3>
        {isVerified ? <FigureEvidence figure={figure} /> : <p>{t(whyKey(marked.figure))}</p>}
        {!isVerified && <p className="text-xs text-muted">{t("figure.whatToDo")}</p>}
      </div>
    </Popover>
  );
}
