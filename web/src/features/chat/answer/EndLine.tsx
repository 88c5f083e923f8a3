/** Under a finished answer: how it ended, its figures, and what can be done with it. */

import { Info, RotateCcw } from "lucide-react";
import { useTranslation } from "react-i18next";

import { CopyButton } from "@/components/ui/CopyButton";
import { IconButton } from "@/components/ui/IconButton";
import { Popover } from "@/components/ui/Popover";
import { answerText, type Turn, type TurnEnd } from "@/events/state";
import { formatDateTime, formatDuration, formatNumber } from "@/lib/format";

import { FiguresSummary } from "./FiguresSummary";
import { useTurn } from "./turnContext";

export function EndLine({ turn, end }: { turn: Turn; end: TurnEnd }) {
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
