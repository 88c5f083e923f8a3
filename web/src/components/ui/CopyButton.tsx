/** Copies a text to the clipboard. */

import { Check, Copy } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";

import { IconButton } from "./Button";
import { toast } from "./toast";

const SHOWN_MS = 1500;

/** Copies a text and says so. */
export function CopyButton({ text, label }: { text: string; label?: string }) {
  const { t } = useTranslation();
  const [isCopied, setIsCopied] = useState(false);
  const copy = useCopy();
  const onCopied = () => {
    setIsCopied(true);
    setTimeout(() => setIsCopied(false), SHOWN_MS);
  };
  return (
    <IconButton
      isSmall
      icon={isCopied ? Check : Copy}
      label={isCopied ? t("copied") : (label ?? t("copy"))}
      onClick={() => copy(text, onCopied)}
    />
  );
}

/** `onCopied` is called once the text is there. */
export function useCopy(): (text: string, onCopied: () => void) => void {
  const { t } = useTranslation();
  return (text, onCopied) => {
    copyText(text).then(onCopied, () => toast(t("copyFailed"), { tone: "danger" }));
  };
}

/** The clipboard exists on secure pages only; elsewhere an old way does. */
async function copyText(text: string): Promise<void> {
  if (window.isSecureContext) await navigator.clipboard.writeText(text);
  else copySelected(text);
}

function copySelected(text: string): void {
  const before = document.activeElement;
  const area = document.createElement("textarea");
  area.value = text;
  area.className = "fixed top-0";
  // A dialog takes the focus back from whatever is outside it, and then nothing is selected.
  (before?.closest('[role="dialog"]') ?? document.body).append(area);
  area.focus();
  area.select();
  const isCopied = document.execCommand("copy"); // eslint-disable-line @typescript-eslint/no-deprecated -- the only way without HTTPS
  area.remove();
  if (before instanceof HTMLElement) before.focus();
  if (!isCopied) throw new Error("The browser did not copy.");
}
