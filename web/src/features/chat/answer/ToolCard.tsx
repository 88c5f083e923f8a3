/** A call of a tool: what it does, how it stands, and folded away its arguments and result. */

import {
  CircleAlert,
  CircleCheck,
  CircleSlash,
  Clock,
  LoaderCircle,
  type LucideIcon,
} from "lucide-react";
import { memo } from "react";
import { useTranslation } from "react-i18next";

import { CopyButton } from "@/components/ui/CopyButton";
import type { ToolPart } from "@/events/state";
import { classes } from "@/lib/classes";
import { formatDuration } from "@/lib/format";

import { Arguments } from "./Arguments";
import { Fold } from "./Fold";
import { LongText } from "./LongText";
import { toolWords } from "./toolWords";
import { useNow } from "./useNow";
import { callSummary, shownResult, sqlOf } from "./values";

const STATUS: Record<ToolPart["status"], { icon: LucideIcon; look: string }> = {
  running: { icon: LoaderCircle, look: "animate-spin text-accent" },
  success: { icon: CircleCheck, look: "text-good" },
  error: { icon: CircleAlert, look: "text-danger" },
  timeout: { icon: Clock, look: "text-warn" },
  denied: { icon: CircleSlash, look: "text-warn" },
};

export const ToolCard = memo(function ToolCard({ part }: { part: ToolPart }) {
  const { t } = useTranslation("answer");
  const { icon: Icon, look } = STATUS[part.status];
  const sql = sqlOf(part.name, part.args);
  const summary = callSummary(part.args);
  return (
    <Fold
      id={part.key}
      className="rounded-xl border border-line bg-raised px-2.5 py-0.5"
      title={
        <>
          <Icon
            role="img"
            aria-label={t(`status.${part.status}`)}
            className={classes("size-4 shrink-0", look)}
          />
          <span className="min-w-0 truncate font-medium">{toolWords(part.name, t)}</span>
          <span className="min-w-0 flex-1 truncate text-muted">{summary}</span>
          <ToolTime part={part} />
        </>
      }
      actions={sql !== null && <CopyButton text={sql} label={t("copySql")} />}
    >
      <ToolDetails part={part} />
    </Fold>
  );
});

function ToolTime({ part }: { part: ToolPart }) {
  const now = useNow(part.endedAt === null);
  const seconds = Math.max(0, (part.endedAt ?? now) - part.startedAt);
  if (part.hasWaited || (part.endedAt === null && seconds < 1)) return null;
  return (
    <span className="shrink-0 text-xs text-muted tabular-nums">
      {part.endedAt === null ? formatDuration(Math.floor(seconds)) : formatDuration(seconds)}
    </span>
  );
}

function ToolDetails({ part }: { part: ToolPart }) {
  const { t } = useTranslation("answer");
  const { text, language } = shownResult(part.result);
  return (
    <div className="grid grid-cols-1 gap-1 border-t border-line pt-1.5 pb-2">
      <p className="text-xs text-muted">
        {part.name} · {t(`status.${part.status}`)}
      </p>
      <Arguments tool={part.name} args={part.args} />
      {part.status === "running" ? (
        <p className="text-sm text-muted">{t("noResultYet")}</p>
      ) : part.result === null ? (
        <p className="text-sm text-muted">{t("noResult")}</p>
      ) : (
        <LongText text={text} language={language} label={t("result")} />
      )}
    </div>
  );
}
