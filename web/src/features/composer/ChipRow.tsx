/** What goes with the message: the skill, the files, and the files on their way. */

import { BookOpen, FileText, FileWarning, RotateCw, Upload as UploadIcon } from "lucide-react";
import { useTranslation } from "react-i18next";

import { useErrorText } from "@/lib/errorText";
import { formatBytes, formatNumber } from "@/lib/format";

import { Chip } from "./Chip";
import { FileTooBig, type Upload } from "./uploads";
import type { Composing } from "./useComposer";

export function ChipRow({ composing }: { composing: Composing }) {
  const { t } = useTranslation("chat");
  const { draft, change, uploads, queue } = composing;
  if (draft.skill === null && draft.attachments.length + uploads.length === 0) return null;
  return (
    <ul className="flex flex-wrap gap-1.5 px-3 pt-3">
      {draft.skill !== null && (
        <Chip
          icon={BookOpen}
          removeLabel={t("composer.remove", { name: draft.skill })}
          onRemove={() => change({ skill: null })}
        >
          <span className="truncate">{t("composer.skill", { name: draft.skill })}</span>
        </Chip>
      )}
      {draft.attachments.map((file) => (
        <Chip
          key={file.fileId}
          icon={FileText}
          removeLabel={t("composer.remove", { name: file.filename })}
          onRemove={() =>
            change(({ attachments }) => ({
              attachments: attachments.filter((each) => each.fileId !== file.fileId),
            }))
          }
        >
          <span className="truncate">{file.filename}</span>
        </Chip>
      ))}
      {uploads.map((upload) => (
        <UploadChip
          key={upload.id}
          upload={upload}
          onRetry={() => queue.retry(upload.id)}
          onRemove={() => queue.remove(upload.id)}
        />
      ))}
    </ul>
  );
}

interface UploadChipProps {
  upload: Upload;
  onRetry: () => void;
  onRemove: () => void;
}

function UploadChip({ upload, onRetry, onRemove }: UploadChipProps) {
  const { t } = useTranslation("chat");
  const errorText = useErrorText();
  const { filename: name, problem, progress } = upload;
  const removeLabel = t("composer.remove", { name });
  if (upload.status !== "failed") {
    return (
      <Chip icon={UploadIcon} removeLabel={removeLabel} onRemove={onRemove}>
        <span className="truncate">{name}</span>
        <progress
          className="h-1.5 w-16 shrink-0 accent-accent"
          max={1}
          value={progress}
          aria-label={t("composer.uploadingFile", { name })}
        />
        <span className="w-9 shrink-0 text-right text-muted tabular-nums">
          {formatNumber(progress, { style: "percent" })}
        </span>
      </Chip>
    );
  }
  const text =
    problem instanceof FileTooBig
      ? t("composer.tooBig", { size: formatBytes(problem.maxBytes) })
      : errorText(problem);
  const retryLabel = t("composer.retryUpload", { name });
  return (
    <Chip
      icon={FileWarning}
      isDanger
      removeLabel={removeLabel}
      onRemove={onRemove}
      action={
        upload.canRetry && (
          <button
            type="button"
            aria-label={retryLabel}
            title={retryLabel}
            onClick={onRetry}
            className="grid size-6 shrink-0 place-items-center rounded-md hover:bg-line"
          >
            <RotateCw className="size-3.5" aria-hidden />
          </button>
        )
      }
    >
      <span role="alert" className="min-w-0 [overflow-wrap:anywhere]">
        {name}: {text}
      </span>
    </Chip>
  );
}
