/** Copies a text and says so. */

import { Check, Copy } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";

import { IconButton } from "./IconButton";
import { useCopy } from "./useCopy";

const SHOWN_MS = 1500;

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
