/** A place to drop files on, or to click for choosing some. */

import { FileUp } from "lucide-react";
import { useRef, useState, type DragEvent } from "react";
import { useTranslation } from "react-i18next";

import { classes } from "@/lib/classes";

import { EXTENSIONS } from "./files";

interface FileChooserProps {
  isDisabled: boolean;
  onChoose: (files: File[]) => void;
}

export function FileChooser({ isDisabled, onChoose }: FileChooserProps) {
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
