/** Skills that could not be used, each with the reason. */

import { useTranslation } from "react-i18next";

import type { Schemas } from "@/api/client";
import { Banner } from "@/components/ui/Banner";

export function SkillWarnings({ warnings }: { warnings: Schemas["SkillWarning"][] }) {
  const { t } = useTranslation("mcpAdmin");
  if (warnings.length === 0) return null;
  return (
    <Banner kind="warn">
      <p className="font-medium">{t("skills.warnings", { count: warnings.length })}</p>
      <ul className="mt-1 grid gap-1">
        {warnings.map((warning) => (
          <li key={`${warning.source} ${warning.path}`}>
            <code className="text-xs">{warning.path}</code> ({t(`skills.sources.${warning.source}`)}
            ): {warning.reason}
          </li>
        ))}
      </ul>
    </Banner>
  );
}
