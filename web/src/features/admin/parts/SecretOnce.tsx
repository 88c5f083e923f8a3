/** A password or key that is shown now and never again. */

import { useTranslation } from "react-i18next";

import { Banner } from "@/components/ui/Banner";
import { CopyButton } from "@/components/ui/CopyButton";

export function SecretOnce({ label, secret }: { label: string; secret: string }) {
  const { t } = useTranslation("admin");
  return (
    <div className="grid gap-2">
      <div className="text-sm font-medium">{label}</div>
      <div className="flex items-center gap-2 rounded-lg border border-line-strong bg-sunken py-1 pr-1 pl-3">
        <code
          aria-label={label}
          className="min-w-0 flex-1 font-mono text-sm [overflow-wrap:anywhere]"
        >
          {secret}
        </code>
        <CopyButton text={secret} />
      </div>
      <Banner kind="warn">{t("shownOnce")}</Banner>
    </div>
  );
}
