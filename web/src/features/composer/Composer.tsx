/** The composer: what is typed, what goes with it, who answers, and sending. */

import {
  BookOpen,
  FileText,
  FileUp,
  FileWarning,
  RotateCw,
  Upload as UploadIcon,
  X,
  type LucideIcon,
} from "lucide-react";
import {
  memo,
  useEffect,
  useEffectEvent,
  useId,
  useImperativeHandle,
  useRef,
  useState,
  type ReactNode,
  type Ref,
} from "react";
import { useTranslation } from "react-i18next";

import { toast } from "@/components/ui/toast";
import type { Question } from "@/events/state";
import { classes } from "@/lib/classes";
import { useErrorText } from "@/lib/errorText";
import { formatBytes, formatNumber } from "@/lib/format";

import { ComposerBar } from "./ComposerBar";
import { ComposerInput } from "./ComposerInput";
import { draftOf, isEmpty } from "./drafts";
import { FileTooBig, type Upload } from "./uploads";
import { useComposer, type Composing } from "./useComposer";

export interface ComposerHandle {
  /** Put a question into the input, to change it and ask again. */
  edit: (question: Question) => void;
}

interface ComposerProps {
  /** Whose draft it is: a conversation's id, or `newDraftId`. */
  conversationId: string;
  onSend: (question: Question) => void;
  /** A message is under way: type, but do not send. */
  isBusy?: boolean;
  /** Stops the answer; null when nothing runs. */
  onStop?: (() => void) | null;
  ref?: Ref<ComposerHandle>;
}

/** Memoised: an answer that grows does not concern it, if its functions stay the same. */
export const Composer = memo(function Composer(props: ComposerProps) {
  const { conversationId, onSend, isBusy = false, onStop = null, ref } = props;
  const { t } = useTranslation("chat");
  const { t: common } = useTranslation();
  const area = useRef<HTMLTextAreaElement>(null);
  const hintId = useId();
  const composing = useComposer(conversationId, isBusy, onSend);
  const isDropping = useFileDrop(composing.attach);
  const { draft, change, obstacle } = composing;

  useImperativeHandle(ref, () => ({
    edit: (question) => {
      change(draftOf(question));
      area.current?.focus();
      if (isEmpty(draft)) return;
      toast(t("composer.replaced"), {
        action: { label: common("undo"), run: () => change(draft) },
      });
    },
  }));

  const hints = {
    busy: onStop ? "composer.busy" : "composer.waiting",
    uploading: "composer.uploading",
  } as const;
  const hint = obstacle === "busy" || obstacle === "uploading" ? hints[obstacle] : null;
  return (
    <div className="relative">
      {isDropping && (
        <div className="pointer-events-none absolute inset-0 z-10 flex items-center justify-center gap-2 rounded-2xl border-2 border-dashed border-accent bg-accent-soft text-sm font-medium text-accent">
          <FileUp className="size-4" aria-hidden />
          {t("composer.drop")}
        </div>
      )}
      <div className="rounded-2xl border border-line-strong bg-raised shadow-float focus-within:border-accent">
        <ChipRow composing={composing} />
        <ComposerInput
          area={area}
          composing={composing}
          isAutoFocused={window.matchMedia("(hover: hover)").matches}
          describedBy={hintId}
          onStop={onStop}
        />
        <ComposerBar composing={composing} onStop={onStop} />
      </div>
      <p
        id={hintId}
        className={`px-2 pt-1.5 text-center text-xs text-muted ${hint ? "" : "max-md:hidden"}`}
      >
        {t(hint ?? "composer.keys")}
      </p>
    </div>
  );
});

/** What goes with the message: the skill, the files, and the files on their way. */
function ChipRow({ composing }: { composing: Composing }) {
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

interface ChipProps {
  icon: LucideIcon;
  children: ReactNode;
  removeLabel: string;
  onRemove: () => void;
  action?: ReactNode;
  isDanger?: boolean;
}

/** A small thing that goes with the message, and a button to take it off. */
function Chip({ icon: Icon, children, removeLabel, onRemove, action, isDanger }: ChipProps) {
  return (
    <li
      className={classes(
        "flex max-w-full items-center gap-1.5 rounded-lg border border-line bg-sunken py-1 pr-1 pl-2 text-xs",
        isDanger === true && "border-danger/60 bg-danger-soft",
      )}
    >
      <Icon className="size-3.5 shrink-0 text-muted" aria-hidden />
      <span className="flex min-w-0 items-center gap-1.5">{children}</span>
      {action}
      <button
        type="button"
        aria-label={removeLabel}
        title={removeLabel}
        onClick={onRemove}
        className="grid size-6 shrink-0 place-items-center rounded-md text-muted hover:bg-line hover:text-text"
      >
        <X className="size-3.5" aria-hidden />
      </button>
    </li>
  );
}

function hasFiles(event: DragEvent): boolean {
  return event.dataTransfer?.types.includes("Files") ?? false;
}

/** Whether files are held over the page now. */
function useFileDrop(onFiles: (files: FileList) => void): boolean {
  const [isOver, setIsOver] = useState(false);
  const drop = useEffectEvent(onFiles);
  useEffect(() => {
    const onOver = (event: DragEvent) => {
      if (!hasFiles(event)) return;
      event.preventDefault(); // else the browser opens the file and leaves the page
      setIsOver(true);
    };
    const onLeave = (event: DragEvent) => {
      if (event.relatedTarget === null) setIsOver(false);
    };
    const onDrop = (event: DragEvent) => {
      setIsOver(false);
      if (!hasFiles(event) || event.dataTransfer === null) return;
      event.preventDefault();
      drop(event.dataTransfer.files);
    };
    window.addEventListener("dragover", onOver);
    window.addEventListener("dragleave", onLeave);
    window.addEventListener("drop", onDrop);
    return () => {
      window.removeEventListener("dragover", onOver);
      window.removeEventListener("dragleave", onLeave);
      window.removeEventListener("drop", onDrop);
    };
  }, []);
  return isOver;
}
