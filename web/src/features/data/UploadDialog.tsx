/** Make a data source of one's own files. */

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { CircleAlert, FileSpreadsheet, FileUp, MessageSquareText, X } from "lucide-react";
import { useRef, useState, type DragEvent } from "react";
import { useTranslation } from "react-i18next";

import { infoQuery } from "@/api/queries";
import { Banner } from "@/components/ui/Banner";
import { Button, IconButton } from "@/components/ui/Button";
import { Dialog } from "@/components/ui/Dialog";
import { Field, Input } from "@/components/ui/Field";
import { LoadingState } from "@/components/ui/States";
import { classes } from "@/lib/classes";
import { useErrorText } from "@/lib/errorText";
import { formatBytes, formatNumber } from "@/lib/format";

import { blamedFile, EXTENSIONS, lookAt, MAX_FILES, suggestedName, type ChosenFile } from "./files";
import { catalogueQuery, type Source, type SourceTable } from "./queries";
import { sendSource, type NewSource } from "./sendSource";
import { SourceNotes } from "./SourceNotes";
import { useAskAbout } from "./useAskAbout";

interface UploadDialogProps {
  isOpen: boolean;
  onClose: () => void;
}

const FORM = "upload-source";

/** Make a data source of one's own files, then ask about it. */
export function UploadDialog({ isOpen, onClose }: UploadDialogProps) {
  const { t } = useTranslation("data");
  const errorText = useErrorText();
  const maxBytes = useQuery(infoQuery).data?.max_upload_bytes ?? Infinity;
  const [files, setFiles] = useState<File[]>([]);
  const [typedName, setTypedName] = useState<string | null>(null);
  const [leftOut, setLeftOut] = useState(0);
  const upload = useSourceUpload();
  const chosen = lookAt(files, maxBytes);
  const name = typedName ?? suggestedName(files);
  const isReady =
    files.length > 0 && name.trim() !== "" && chosen.every((each) => each.problem === null);
  const blamed = upload.error ? blamedFile(upload.error, files) : null;
  const problem = upload.error ? errorText(upload.error) : null;

  const close = () => {
    upload.reset();
    setFiles([]);
    setLeftOut(0);
    setTypedName(null);
    onClose();
  };
  const change = (next: File[]) => {
    upload.reset();
    setFiles(next.slice(0, MAX_FILES));
    setLeftOut(Math.max(0, next.length - MAX_FILES));
  };
  if (upload.made) {
    return (
      <Dialog isOpen={isOpen} onClose={close} title={t("uploadDone")}>
        <UploadDone source={upload.made} onClose={close} />
      </Dialog>
    );
  }
  return (
    <Dialog
      isOpen={isOpen}
      onClose={close}
      isSticky
      title={t("upload")}
      description={t("uploadText")}
      footer={
        <>
          <Button onClick={close}>{t("cancel", { ns: "common" })}</Button>
          <Button
            variant="primary"
            type="submit"
            form={FORM}
            disabled={!isReady}
            isBusy={upload.isSending}
          >
            {t("uploadNow")}
          </Button>
        </>
      }
    >
      <form
        id={FORM}
        className="grid gap-3"
        onSubmit={(event) => {
          event.preventDefault();
          if (isReady) upload.send({ name: name.trim(), files });
        }}
      >
        <FileChooser
          isDisabled={upload.isSending}
          onChoose={(more) => change([...files, ...more])}
        />
        {leftOut > 0 && (
          <Banner kind="warn">{t("filesLeftOut", { count: leftOut, most: MAX_FILES })}</Banner>
        )}
        {files.length > 0 && (
          <FileRows
            chosen={chosen}
            maxBytes={maxBytes}
            refused={blamed !== null && problem !== null ? { name: blamed, text: problem } : null}
            isDisabled={upload.isSending}
            onRemove={(gone) => change(files.filter((file) => file !== gone))}
          />
        )}
        {files.length > 0 && (
          <Field label={t("sourceName")} hint={t("sourceNameHint")}>
            {(control) => (
              <Input
                {...control}
                value={name}
                maxLength={64}
                required
                disabled={upload.isSending}
                onChange={(event) => setTypedName(event.target.value)}
              />
            )}
          </Field>
        )}
        {problem !== null && blamed === null && <Banner kind="danger">{problem}</Banner>}
        {upload.isSending && <SendProgress progress={upload.progress} />}
      </form>
    </Dialog>
  );
}

interface FileChooserProps {
  isDisabled: boolean;
  onChoose: (files: File[]) => void;
}

/** A place to drop files on, or to click for choosing some. */
function FileChooser({ isDisabled, onChoose }: FileChooserProps) {
  const { t } = useTranslation("data");
  const input = useRef<HTMLInputElement>(null);
  const [isOver, setIsOver] = useState(false);
  const onDrop = (event: DragEvent) => {
    event.preventDefault();
    setIsOver(false);
    if (!isDisabled) onChoose([...event.dataTransfer.files]);
  };
  return (
    <>
      <button
        type="button"
        disabled={isDisabled}
        onClick={() => input.current?.click()}
        onDragOver={(event) => {
          event.preventDefault();
          setIsOver(true);
        }}
        onDragLeave={() => setIsOver(false)}
        onDrop={onDrop}
        className={classes(
          "flex w-full flex-col items-center gap-1 rounded-xl border-2 border-dashed border-line-strong px-4 py-6 text-sm hover:bg-sunken disabled:opacity-60",
          isOver && "border-accent bg-accent-soft",
        )}
      >
        <FileUp className="size-6 text-muted" aria-hidden />
        <span className="font-medium">{t("chooseFiles")}</span>
        <span className="text-xs text-muted">{t("fileKinds")}</span>
      </button>
      <input
        ref={input}
        type="file"
        multiple
        hidden
        aria-label={t("chooseFiles")}
        accept={EXTENSIONS.join(",")}
        onChange={(event) => {
          onChoose([...(event.target.files ?? [])]);
          event.target.value = "";
        }}
      />
    </>
  );
}

interface FileRowsProps {
  chosen: ChosenFile[];
  maxBytes: number;
  /** What the server said of one of them. */
  refused: { name: string; text: string } | null;
  isDisabled: boolean;
  onRemove: (file: File) => void;
}

/** The files that are to be sent, each with what is wrong with it. */
function FileRows({ chosen, maxBytes, refused, isDisabled, onRemove }: FileRowsProps) {
  const { t } = useTranslation("data");
  const problemOf = ({ file, problem }: ChosenFile) => {
    if (problem !== null) return t(`fileProblems.${problem}`, { most: formatBytes(maxBytes) });
    return refused?.name === file.name ? refused.text : null;
  };
  return (
    <ul aria-label={t("chosenFiles")} className="grid gap-1">
      {chosen.map((each, at) => {
        const problem = problemOf(each);
        const Icon = problem === null ? FileSpreadsheet : CircleAlert;
        return (
          <li key={at} className="flex items-center gap-2 rounded-lg bg-sunken py-1 pr-1 pl-3">
            <Icon
              className={`size-4 shrink-0 ${problem === null ? "text-muted" : "text-danger"}`}
              aria-hidden
            />
            <div className="min-w-0 flex-1 text-sm">
              <p className="truncate" title={each.file.name}>
                {each.file.name} <span className="text-muted">{formatBytes(each.file.size)}</span>
              </p>
              {problem !== null && (
                <p role="alert" className="text-xs text-danger [overflow-wrap:anywhere]">
                  {problem}
                </p>
              )}
            </div>
            <IconButton
              isSmall
              icon={X}
              disabled={isDisabled}
              label={t("removeFile", { name: each.file.name })}
              onClick={() => onRemove(each.file)}
            />
          </li>
        );
      })}
    </ul>
  );
}

/** How much has been sent; then the server reads it. */
function SendProgress({ progress }: { progress: number }) {
  const { t } = useTranslation("data");
  const isSent = progress >= 1;
  const text = isSent
    ? t("reading")
    : t("sending", { percent: formatNumber(progress, { style: "percent" }) });
  return (
    <div className="grid gap-1 text-sm text-muted">
      <p role="status">{text}</p>
      <progress
        aria-label={text}
        className="h-1.5 w-full accent-accent"
        {...(!isSent && { value: progress })}
      />
    </div>
  );
}

/** What became of uploaded files: tables, and what was left out. */
function UploadDone({ source, onClose }: { source: Source; onClose: () => void }) {
  const { t } = useTranslation("data");
  const navigate = useNavigate();
  const askAbout = useAskAbout();
  const errorText = useErrorText();
  const query = useQuery(catalogueQuery(source.source_id));
  const look = () => {
    onClose();
    void navigate({ to: "/data/$sourceId", params: { sourceId: source.source_id } });
  };
  return (
    <div className="grid gap-3 pb-3 text-sm">
      <p>{t("uploadDoneText", { name: source.name })}</p>
      {query.isPending && <LoadingState lines={2} />}
      {query.error && <Banner kind="warn">{errorText(query.error)}</Banner>}
      {query.data && <Made tables={query.data.tables} />}
      {query.data && <SourceNotes catalogue={query.data} />}
      <div className="flex flex-wrap justify-end gap-2">
        <Button onClick={look}>{t("look")}</Button>
        <Button
          variant="primary"
          onClick={() => {
            onClose();
            askAbout(source.name);
          }}
        >
          <MessageSquareText className="size-4" aria-hidden />
          {t("ask")}
        </Button>
      </div>
    </div>
  );
}

function Made({ tables }: { tables: SourceTable[] }) {
  const { t } = useTranslation("data");
  return (
    <ul aria-label={t("tables")} className="grid gap-1">
      {tables.map((table) => (
        <li key={table.key} className="flex justify-between gap-3 rounded-lg bg-sunken px-3 py-1.5">
          <span className="font-medium [overflow-wrap:anywhere]">{table.key}</span>
          <span className="text-muted">
            {table.row_count !== null &&
              t("rowCount", { count: table.row_count, number: formatNumber(table.row_count) })}
          </span>
        </li>
      ))}
    </ul>
  );
}

/** Files chosen, looked at, sent, and what came of it. */
function useSourceUpload() {
  const client = useQueryClient();
  const [progress, setProgress] = useState(0);
  const aborting = useRef<AbortController>(null);
  const upload = useMutation({
    mutationFn: (source: NewSource) => {
      setProgress(0);
      aborting.current = new AbortController();
      return sendSource(source, setProgress, aborting.current.signal);
    },
    onSuccess: () => client.invalidateQueries({ queryKey: ["sources"] }),
  });
  return {
    send: upload.mutate,
    made: upload.data ?? null,
    error: upload.error,
    isSending: upload.isPending,
    progress,
    /** Break off what is on its way and begin anew. */
    reset: () => {
      aborting.current?.abort();
      upload.reset();
    },
  };
}
