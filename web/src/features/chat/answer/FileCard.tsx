/** What was done to a file of the workspace. */

import { FileMinus, FilePen, FilePlus, FileSearch, type LucideIcon } from "lucide-react";
import { memo } from "react";
import { useTranslation } from "react-i18next";

import { Badge } from "@/components/ui/Badge";
import type { FilePart } from "@/events/state";
import type { FileOperation } from "@/events/types";

import { diffLines } from "./diff";
import { DiffView } from "./DiffView";
import { Fold } from "./Fold";

const ICONS: Record<FileOperation, LucideIcon> = {
  read: FileSearch,
  write: FilePlus,
  edit: FilePen,
  delete: FileMinus,
};

const SHORT = 16;

export const FileCard = memo(function FileCard({ part }: { part: FilePart }) {
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
