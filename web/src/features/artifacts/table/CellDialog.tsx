/** One value in full, however long it is. */

import { useTranslation } from "react-i18next";

import { CopyButton } from "@/components/ui/CopyButton";
import { Dialog } from "@/components/ui/Dialog";

interface CellDialogProps {
  name: string;
  /** null: closed. */
  text: string | null;
  onClose: () => void;
}

export function CellDialog({ name, text, onClose }: CellDialogProps) {
  const { t } = useTranslation("results");
  return (
    <Dialog isOpen={text !== null} onClose={onClose} title={name} width="medium">
      <div className="flex items-start gap-2 pb-3">
        <pre className="min-w-0 flex-1 rounded-lg bg-sunken p-3 font-sans text-sm [overflow-wrap:anywhere] whitespace-pre-wrap">
          {text}
        </pre>
        <CopyButton text={text ?? ""} label={t("copyCell")} />
      </div>
    </Dialog>
  );
}
