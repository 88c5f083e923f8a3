/** A test that runs, its result, or why it could not be made. */

import { LoaderCircle } from "lucide-react";
import { useTranslation } from "react-i18next";

import { Refusal } from "./Refusal";
import { TrialResult } from "./TrialResult";
import type { TrialState } from "./useTrials";

export function TrialPanel({ name, state }: { name: string; state: TrialState | undefined }) {
  const { t } = useTranslation("mcp");
  if (!state) return null;
  if (state.isRunning)
    return (
      <p role="status" className="flex items-center gap-2 text-sm text-muted">
        <LoaderCircle className="size-4 animate-spin" aria-hidden />
        {t("testing", { name })}
      </p>
    );
  return state.trial ? <TrialResult trial={state.trial} /> : <Refusal error={state.error} />;
}
