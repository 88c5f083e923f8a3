/** The answer of a turn: its parts in order, and how it ended. */

import { Hourglass, LoaderCircle } from "lucide-react";
import { memo, useMemo } from "react";
import { useTranslation } from "react-i18next";

import { openApprovals, type Turn } from "@/events/state";

import { EndLine } from "./EndLine";
import { figuresByPart } from "./figures";
import { PartView } from "./PartView";
import { segments } from "./segments";
import { SubAgent } from "./SubAgent";
import { useNow } from "./useNow";

export const Answer = memo(function Answer({ turn }: { turn: Turn }) {
  const { t } = useTranslation("answer");
  const isRunning = turn.status === "running";
  const groups = useMemo(() => segments(turn.parts), [turn.parts]);
  const figures = useMemo(
    () => figuresByPart(turn.parts, turn.end?.figures ?? null),
    [turn.parts, turn.end],
  );
  const last = turn.parts.at(-1);
  return (
    <div aria-live="off" aria-busy={isRunning} className="grid min-w-0 grid-cols-1 gap-2.5">
      <h2 className="sr-only">{t("answer")}</h2>
      {groups.map((segment) =>
        segment.kind === "agent" ? (
          <SubAgent
            key={segment.key}
            segment={segment}
            isLive={isRunning && last !== undefined && segment.parts.includes(last)}
          />
        ) : (
          <PartView
            key={segment.key}
            part={segment.part}
            figures={figures.get(segment.part.key)}
            isLive={isRunning && segment.part === last}
          />
        ),
      )}
      {isRunning && <Working turn={turn} />}
      {turn.end !== null && <EndLine turn={turn} end={turn.end} />}
    </div>
  );
});

/** That something is going on, also while nothing new is to be seen. */
function Working({ turn }: { turn: Turn }) {
  const { t } = useTranslation("answer");
  const isWaiting = openApprovals(turn).length > 0;
  const seconds = Math.floor(useNow(!isWaiting) - turn.askedAt);
  const words = turn.parts.length === 0 ? t("starting") : t("working");
  if (isWaiting) {
    return (
      <p className="flex items-center gap-2 text-sm text-muted">
        <Hourglass className="size-4 text-warn" aria-hidden />
        {t("waiting")}
      </p>
    );
  }
  return (
    <p className="flex items-center gap-2 text-sm text-muted">
      <LoaderCircle className="size-4 animate-spin text-accent" aria-hidden />
      {words}
      {seconds >= 3 && (
        <span className="text-xs tabular-nums">{t("seconds", { count: seconds })}</span>
      )}
    </p>
  );
}
