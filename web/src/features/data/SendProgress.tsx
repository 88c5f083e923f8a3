/** How much has been sent; then the server reads it. */

import { useTranslation } from "react-i18next";

import { formatNumber } from "@/lib/format";

export function SendProgress({ progress }: { progress: number }) {
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
