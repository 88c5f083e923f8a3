/** The checks of readiness; one that fails says what to do. */

import { CircleCheck, CircleX } from "lucide-react";
import { useTranslation } from "react-i18next";

import type { Check } from "./checks";

export function CheckList({ checks }: { checks: Check[] }) {
  const { t } = useTranslation("admin");
  return (
    <ul className="grid gap-3 text-sm">
      {checks.map(({ name, says, isWell, advice }) => {
        const Icon = isWell ? CircleCheck : CircleX;
        return (
          <li key={name} className="flex items-start gap-2">
            <Icon
              className={`mt-0.5 size-4 shrink-0 ${isWell ? "text-good" : "text-danger"}`}
              aria-hidden
            />
            <div className="min-w-0 [overflow-wrap:anywhere]">
              <span className="font-medium">{advice ? t(`health.checks.${advice}`) : name}</span>
              {": "}
              <span className={isWell ? "text-muted" : "text-danger"}>
                {isWell ? t("health.ok") : says}
              </span>
              {!isWell && (
                <p className="text-muted">
                  {advice ? t(`health.advice.${advice}`) : t("health.otherAdvice")}
                </p>
              )}
            </div>
          </li>
        );
      })}
    </ul>
  );
}
