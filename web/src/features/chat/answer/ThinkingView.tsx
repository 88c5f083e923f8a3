/** What the model thought: its last line while it thinks, folded away afterwards. */

import { Brain } from "lucide-react";
import { memo } from "react";
import { useTranslation } from "react-i18next";

import { Markdown } from "@/components/Markdown";
import type { ThinkingPart } from "@/events/state";
import { classes } from "@/lib/classes";
import { formatDuration } from "@/lib/format";

import { Fold } from "./Fold";

interface ThinkingViewProps {
  part: ThinkingPart;
  /** It is being thought right now. */
  isLive: boolean;
}

export const ThinkingView = memo(function ThinkingView({ part, isLive }: ThinkingViewProps) {
  const { t } = useTranslation("answer");
  const seconds = part.endedAt - part.startedAt;
  const done = seconds < 0.1 ? t("thought") : t("thoughtFor", { time: formatDuration(seconds) });
  const lastLine = part.content.trimEnd().split("\n").at(-1) ?? "";
  return (
    <Fold
      id={part.key}
      title={
        <>
          <Brain
            className={classes("size-4 shrink-0 text-muted", isLive && "animate-pulse")}
            aria-hidden
          />
          <span className="shrink-0 text-muted">{isLive ? t("thinking") : done}</span>
          {isLive && <span className="min-w-0 truncate text-muted italic">{lastLine}</span>}
        </>
      }
    >
      <div className="ml-2 border-l-2 border-line py-1 pl-4 text-sm text-muted">
        <Markdown text={part.content} isStreaming={isLive} />
      </div>
    </Fold>
  );
});
