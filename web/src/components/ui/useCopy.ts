/** A text to the clipboard; where the browser does not allow it, that is told. */

import { useTranslation } from "react-i18next";

import { toast } from "./toast";

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
