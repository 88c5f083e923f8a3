/** Why a statement may not run. */

import { useTranslation } from "react-i18next";

import { ApiError } from "@/api/client";
import { Badge } from "@/components/ui/Badge";
import { Banner } from "@/components/ui/Banner";
import { useErrorText } from "@/lib/errorText";

export function Refusal({ error }: { error: unknown }) {
  const { t } = useTranslation("admin");
  const textOf = useErrorText();
  if (error === null || error === undefined) return null;
  const isVerdict = error instanceof ApiError && error.status >= 400 && error.status < 500;
  return (
    <>
      {isVerdict && (
        <div>
          <Badge tone="danger">{t("policies.check.refused")}</Badge>
        </div>
      )}
      <Banner kind="danger">{isVerdict ? error.message : textOf(error)}</Banner>
    </>
  );
}
