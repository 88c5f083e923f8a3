/** An error → a sentence for the user. */

import { useCallback } from "react";
import { useTranslation } from "react-i18next";

import { ApiError } from "@/api/client";

/** The same function until the language changes. */
export function useErrorText(): (error: unknown) => string {
  const { t } = useTranslation();
  return useCallback(
    (error) => {
      if (error instanceof ApiError) {
        if (error.status === 0) return t("errors.unreachable");
        if (error.status === 403) return `${t("errors.forbidden")} ${error.message}`;
        return error.message;
      }
      return error instanceof Error ? error.message : t("errors.unknown");
    },
    [t],
  );
}
