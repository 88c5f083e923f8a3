/** The answer of a turn: its parts, sub-agents, and how it ended. */

import {
  Bot,
  CircleAlert,
  Hourglass,
  Info,
  LoaderCircle,
  RotateCcw,
  ShieldCheck,
} from "lucide-react";
import { memo, useMemo } from "react";
import { useTranslation } from "react-i18next";

import { IconButton } from "@/components/ui/Button";
import { CopyButton } from "@/components/ui/CopyButton";
import { Popover } from "@/components/ui/Popover";
import { answerText, openApprovals, type Turn, type TurnEnd } from "@/events/state";
import type { Figures } from "@/events/types";
import { formatDateTime, formatDuration, formatNumber } from "@/lib/format";

import { useNow } from "../../../lib/clock";
import { Fold } from "./Fold";
import { PartView } from "./PartView";
import { figuresByPart, segments, type AgentSegment } from "./segments";
import { useTurn } from "./turnContext";
import { useAgentName } from "./words";

/** The answer of a turn: its parts in order, and how it ended. */
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

interface SubAgentProps {
  segment: AgentSegment;
  isLive: boolean;
}

/** What a sub-agent did, under its name: open while it works, folded afterwards. */
function SubAgent({ segment, isLive }: SubAgentProps) {
  const { t } = useTranslation("answer");
  const name = useAgentName(segment.agent);
  return (
    <Fold
      id={`agent-${segment.key}`}
      isOpenByItself={isLive}
      title={
        <>
          <Bot className="size-4 shrink-0 text-muted" aria-hidden />
          <span className="min-w-0 truncate font-medium">{t("subAgent", { name })}</span>
          {isLive ? (
            <LoaderCircle className="size-4 shrink-0 animate-spin text-accent" aria-hidden />
          ) : (
            <span className="shrink-0 text-muted">
              {t("steps", { count: segment.parts.length })}
            </span>
          )}
        </>
      }
    >
      <div className="ml-2 grid grid-cols-1 gap-2 border-l-2 border-line py-1 pl-4">
        {segment.parts.map((part) => (
          <PartView
            key={part.key}
            part={part}
            figures={undefined}
            isLive={isLive && part === segment.parts.at(-1)}
          />
        ))}
      </div>
    </Fold>
  );
}

/** Under a finished answer: how it ended, its figures, and what can be done with it. */
function EndLine({ turn, end }: { turn: Turn; end: TurnEnd }) {
  const { t } = useTranslation("answer");
  const { askAgain } = useTurn();
  const text = answerText(turn);
  return (
    <div className="grid gap-1">
      {end.reason !== "completed" && end.reason !== "failed" && (
        <p className="text-sm text-muted">{t(`ends.${end.reason}`)}</p>
      )}
      {end.figures !== null && <FiguresSummary figures={end.figures} />}
      <div className="-ml-2 flex items-center">
        {text !== "" && <CopyButton text={text} label={t("copyAnswer")} />}
        {askAgain !== null && (
          <IconButton isSmall icon={RotateCcw} label={t("retry")} onClick={askAgain} />
        )}
        <Popover
          label={t("details.title")}
          trigger={<IconButton isSmall icon={Info} label={t("details.title")} />}
        >
          <Details turn={turn} end={end} />
        </Popover>
      </div>
    </div>
  );
}

function Details({ turn, end }: { turn: Turn; end: TurnEnd }) {
  const { t } = useTranslation("answer");
  const tokens = (count: number | undefined) =>
    count === undefined ? t("details.unknown") : formatNumber(count);
  const rows = [
    [t("details.ended"), formatDateTime(end.at * 1000)],
    [t("details.time"), formatDuration(Math.max(0, end.at - turn.askedAt))],
    [t("details.input"), tokens(end.tokenUsage?.input_tokens)],
    [t("details.output"), tokens(end.tokenUsage?.output_tokens)],
  ];
  return (
    <dl className="grid grid-cols-[1fr_auto] gap-x-4 gap-y-1">
      {rows.map(([name, value]) => (
        <div key={name} className="contents">
          <dt className="text-muted">{name}</dt>
          <dd className="text-right tabular-nums">{value}</dd>
        </div>
      ))}
    </dl>
  );
}

/** How many of an answer's figures are backed by data. */
function FiguresSummary({ figures }: { figures: Figures }) {
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
