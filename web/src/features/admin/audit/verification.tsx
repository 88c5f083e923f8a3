/** Whether the audit log is as it was written: its chain of hashes is checked. */

import { useMutation } from "@tanstack/react-query";
import { Link2, Link2Off } from "lucide-react";
import { useTranslation } from "react-i18next";

import { api, call, type Schemas } from "@/api/client";
import { Button } from "@/components/ui/Button";
import { CopyButton } from "@/components/ui/CopyButton";
import { Card } from "@/components/ui/Page";
import { formatNumber } from "@/lib/format";

import { Problem } from "../kit/change";

export function Verification() {
  const { t } = useTranslation("admin");
  const verify = useMutation({ mutationFn: () => call(api.GET("/api/v1/audit/verify")) });
  return (
    <Card
      title={t("audit.verify.title")}
      actions={
        <Button size="small" isBusy={verify.isPending} onClick={() => verify.mutate()}>
          {t("audit.verify.run")}
        </Button>
      }
    >
      <div className="grid gap-2 text-sm" aria-live="polite">
        <Problem error={verify.error} />
        {verify.data ? (
          <AuditVerdict verdict={verify.data} />
        ) : (
          <p className="text-muted">{t("audit.verify.text")}</p>
        )}
      </div>
    </Card>
  );
}

function AuditVerdict({ verdict }: { verdict: Schemas["AuditVerdict"] }) {
  const { t } = useTranslation("admin");
  if (!verdict.whole)
    return (
      <div className="flex items-start gap-2 text-danger">
        <Link2Off className="mt-0.5 size-4 shrink-0" aria-hidden />
        <div className="min-w-0 [overflow-wrap:anywhere]">
          <p className="font-medium">
            {t("audit.verify.broken", { position: verdict.first_bad ?? verdict.position })}
          </p>
          {verdict.problem !== null && <p>{verdict.problem}</p>}
          <p className="text-text">{t("audit.verify.brokenText")}</p>
        </div>
      </div>
    );
  return (
    <div className="flex items-start gap-2">
      <Link2 className="mt-0.5 size-4 shrink-0 text-good" aria-hidden />
      <div className="min-w-0">
        <p className="font-medium text-good">
          {t("audit.verify.whole", {
            count: verdict.checked,
            rows: formatNumber(verdict.checked),
          })}
        </p>
        <p className="text-muted">{t("audit.verify.noteHash")}</p>
        <div className="flex items-center gap-1">
          <code className="min-w-0 text-xs break-all">{verdict.hash}</code>
          <CopyButton text={verdict.hash} />
        </div>
      </div>
    </div>
  );
}
