/** One part of an answer: text, thinking, a call, a change of a file, a plan, an error. */

import {
  Brain,
  CircleAlert,
  CircleCheck,
  CircleDashed,
  CircleDot,
  CircleSlash,
  Clock,
  FileMinus,
  FilePen,
  FilePlus,
  FileSearch,
  LoaderCircle,
  RotateCcw,
  type LucideIcon,
} from "lucide-react";
import { memo } from "react";
import { useTranslation } from "react-i18next";

import { Markdown } from "@/components/Markdown";
import { Badge } from "@/components/ui/Badge";
import { Button } from "@/components/ui/Button";
import { CopyButton } from "@/components/ui/CopyButton";
import type {
  ErrorPart,
  FilePart,
  Part,
  TextPart,
  ThinkingPart,
  TodosPart,
  ToolPart,
} from "@/events/state";
import type { FileOperation, Todo } from "@/events/types";
import { ArtifactCard } from "@/features/artifacts/ArtifactCard";
import type { MarkedFigure } from "@/features/artifacts/FigureMark";
import type { answer } from "@/i18n/en/answer";
import { classes } from "@/lib/classes";
import { formatDuration } from "@/lib/format";

import { useNow } from "../../../lib/clock";
import { ApprovalCard } from "./approval/ApprovalCard";
import { Arguments, LongText } from "./Arguments";
import { diffLines, DiffView } from "./DiffView";
import { Fold } from "./Fold";
import { useTurn } from "./turnContext";
import { callSummary, shownResult, sqlOf } from "./values";
import { toolWords } from "./words";

interface PartViewProps {
  part: Part;
  figures: readonly MarkedFigure[] | undefined;
  /** It is the last part and the answer goes on. */
  isLive: boolean;
}

/** One part of an answer, by its kind. */
export const PartView = memo(function PartView({ part, figures, isLive }: PartViewProps) {
  switch (part.kind) {
    case "text":
      return <TextView part={part} figures={figures} isLive={isLive} />;
    case "thinking":
      return <ThinkingView part={part} isLive={isLive} />;
    case "tool":
      return <ToolCard part={part} />;
    case "todos":
      return <TodosView part={part} />;
    case "file":
      return <FileChange part={part} />;
    case "artifact":
      return <ArtifactCard part={part} />;
    case "approval":
      return <ApprovalCard part={part} />;
    case "error":
      return <ErrorView part={part} />;
  }
});

interface TextViewProps {
  part: TextPart;
  figures: readonly MarkedFigure[] | undefined;
  isLive: boolean;
}

/** A piece of the answer's text. */
const TextView = memo(function TextView({ part, figures, isLive }: TextViewProps) {
  return (
    <Markdown
      text={part.content}
      isStreaming={isLive}
      {...(figures !== undefined && { figures })}
    />
  );
});

interface ThinkingViewProps {
  part: ThinkingPart;
  /** It is being thought right now. */
  isLive: boolean;
}

/** What the model thought: its last line while it thinks, folded away afterwards. */
const ThinkingView = memo(function ThinkingView({ part, isLive }: ThinkingViewProps) {
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

const CALL_STATUS: Record<ToolPart["status"], { icon: LucideIcon; look: string }> = {
  running: { icon: LoaderCircle, look: "animate-spin text-accent" },
  success: { icon: CircleCheck, look: "text-good" },
  error: { icon: CircleAlert, look: "text-danger" },
  timeout: { icon: Clock, look: "text-warn" },
  denied: { icon: CircleSlash, look: "text-warn" },
};

/** A call of a tool: what it does, how it stands, and folded away its arguments and result. */
const ToolCard = memo(function ToolCard({ part }: { part: ToolPart }) {
  const { t } = useTranslation("answer");
  const { icon: Icon, look } = CALL_STATUS[part.status];
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

const ICONS: Record<FileOperation, LucideIcon> = {
  read: FileSearch,
  write: FilePlus,
  edit: FilePen,
  delete: FileMinus,
};

const SHORT = 16;

/** What was done to a file of the workspace. */
const FileChange = memo(function FileChange({ part }: { part: FilePart }) {
  const look = "rounded-xl border border-line bg-raised px-2.5 py-0.5";
  if (part.diff === null) {
    return (
      <div className={`${look} flex items-center gap-2 py-1.5 pl-3 text-sm`}>
        <FileTitle part={part} />
      </div>
    );
  }
  return (
    <Fold
      id={part.key}
      isOpenByItself={diffLines(part.diff).length <= SHORT}
      className={look}
      title={<FileTitle part={part} />}
    >
      <DiffView diff={part.diff} path={part.path} />
    </Fold>
  );
});

function FileTitle({ part }: { part: FilePart }) {
  const { t } = useTranslation("answer");
  const Icon = ICONS[part.operation];
  const { lines_added: added, lines_removed: removed, lines_read: read } = part.metrics;
  return (
    <>
      <Icon className="size-4 shrink-0 text-muted" aria-hidden />
      <span className="shrink-0 font-medium">{t(`file.${part.operation}`)}</span>
      <span className="min-w-0 flex-1 truncate font-mono text-[13px]">{part.path}</span>
      {added !== undefined && added > 0 && (
        <Change look="text-good" sign="+" count={added} words={t("file.added", { count: added })} />
      )}
      {removed !== undefined && removed > 0 && (
        <Change
          look="text-danger"
          sign="−"
          count={removed}
          words={t("file.removed", { count: removed })}
        />
      )}
      {read !== undefined && (
        <span className="shrink-0 text-xs text-muted">{t("file.lines", { count: read })}</span>
      )}
      {part.status !== "success" && <Badge tone="danger">{t(`status.${part.status}`)}</Badge>}
    </>
  );
}

interface ChangeProps {
  look: string;
  sign: string;
  count: number;
  words: string;
}

function Change({ look, sign, count, words }: ChangeProps) {
  return (
    <span className={`shrink-0 text-xs tabular-nums ${look}`}>
      <span aria-hidden>
        {sign}
        {count}
      </span>
      <span className="sr-only">{words}</span>
    </span>
  );
}

const TODO_STATUS: Record<Todo["status"], { icon: LucideIcon; look: string; text: string }> = {
  pending: { icon: CircleDashed, look: "text-muted", text: "" },
  in_progress: { icon: CircleDot, look: "text-accent", text: "font-medium" },
  completed: { icon: CircleCheck, look: "text-good", text: "text-muted" },
};

/** The plan of an answer as a list to tick off. */
const TodosView = memo(function TodosView({ part }: { part: TodosPart }) {
  const { t } = useTranslation("answer");
  const done = part.todos.filter((each) => each.status === "completed").length;
  const current = part.todos.find((each) => each.status === "in_progress");
  return (
    <Fold
      id={part.key}
      isOpenByItself
      className="rounded-xl border border-line bg-raised px-2.5 py-0.5"
      title={
        <>
          <span className="shrink-0 font-medium">{t("todos.title")}</span>
          <span className="shrink-0 text-muted tabular-nums">
            {t("todos.progress", { done, all: part.todos.length })}
          </span>
          <span className="min-w-0 truncate text-muted">{current?.content}</span>
        </>
      }
    >
      <ul className="grid gap-1 pt-1 pb-2 pl-1 text-sm">
        {part.todos.map((todo, at) => {
          const { icon: Icon, look, text } = TODO_STATUS[todo.status];
          return (
            <li key={at} className="flex items-start gap-2">
              <Icon
                role="img"
                aria-label={t(`todos.${todo.status}`)}
                className={classes("mt-0.5 size-4 shrink-0", look)}
              />
              <span className={classes("min-w-0 [overflow-wrap:anywhere]", text)}>
                {todo.content}
              </span>
            </li>
          );
        })}
      </ul>
    </Fold>
  );
});

type KnownCode = keyof (typeof answer)["advice"];

/** What went wrong in an answer, and what to do about it. */
const ErrorView = memo(function ErrorView({ part }: { part: ErrorPart }) {
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
