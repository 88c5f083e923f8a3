/** What a sub-agent did, under its name: open while it works, folded afterwards. */

import { Bot, LoaderCircle } from "lucide-react";
import { useTranslation } from "react-i18next";

import { Fold } from "./Fold";
import { PartView } from "./PartView";
import type { AgentSegment } from "./segments";
import { useAgentName } from "./useAgentName";

interface SubAgentProps {
  segment: AgentSegment;
  isLive: boolean;
}

export function SubAgent({ segment, isLive }: SubAgentProps) {
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
