/** In the place of a result that cannot be fetched: that it is gone, or why it did not come. */

import { useTranslation } from "react-i18next";

import { Banner } from "@/components/ui/Banner";
import { Button } from "@/components/ui/Button";
import { useErrorText } from "@/lib/errorText";

import { isGone } from "./queries";

export function Gone({ error, onRetry }: { error: unknown; onRetry: () => void }) {
  const { t } = useTranslation("results");
  const errorText = useErrorText();
  if (isGone(error)) return <Banner kind="warn">{t("gone")}</Banner>;
  return (
    <Banner
      kind="danger"
      action={
        <Button size="small" onClick={onRetry}>
          {t("tryAgain", { ns: "common" })}
        </Button>
      }
    >
      {errorText(error)}
    </Banner>
  );
}
