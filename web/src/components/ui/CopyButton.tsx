/** Copies a text and says so. */

import { Check, Copy } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";

import { IconButton } from "./IconButton";

const SHOWN_MS = 1500;

export function CopyButton({ text, label }: { text: string; label?: string }) {
  const { t } = useTranslation();
  const [isCopied, setIsCopied] = useState(false);
  const copy = async () => {
    await copyText(text);
    setIsCopied(true);
    setTimeout(() => setIsCopied(false), SHOWN_MS);
  };
  return (
    <IconButton
      isSmall
      icon={isCopied ? Check : Copy}
      label={isCopied ? t("copied") : (label ?? t("copy"))}
      onClick={() => void copy()}
    />
  );
}

/** The clipboard exists on secure pages only; elsewhere an old way does. */
export async function copyText(text: string): Promise<void> {
  if (window.isSecureContext) {
    await navigator.clipboard.writeText(text);
    return;
  }
  const area = document.createElement("textarea");
  area.value = text;
  document.body.append(area);
  area.select();
  document.execCommand("copy"); // eslint-disable-line @typescript-eslint/no-deprecated -- the only way without HTTPS
  area.remove();
}
