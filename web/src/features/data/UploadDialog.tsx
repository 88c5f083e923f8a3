/** Make a data source of one's own files, then ask about it. */

import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";

import { infoQuery } from "@/api/queries";
import { Banner } from "@/components/ui/Banner";
import { Button } from "@/components/ui/Button";
import { Dialog } from "@/components/ui/Dialog";
import { Field, Input } from "@/components/ui/Field";
import { useErrorText } from "@/lib/errorText";

import { FileChooser } from "./FileChooser";
import { FileRows } from "./FileRows";
import { blamedFile, lookAt, MAX_FILES, suggestedName } from "./files";
import { SendProgress } from "./SendProgress";
import { UploadDone } from "./UploadDone";
import { useSourceUpload } from "./useSourceUpload";

interface UploadDialogProps {
  isOpen: boolean;
  onClose: () => void;
}

const FORM = "upload-source";

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
