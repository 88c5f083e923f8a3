/** The switch that shows what a result rests on. */

import { ScrollText } from "lucide-react";
import { useTranslation } from "react-i18next";

import { Button } from "@/components/ui/Button";

interface ShowSqlProps {
  isShown: boolean;
  onChange: (isShown: boolean) => void;
}

export function ShowSql({ isShown, onChange }: ShowSqlProps) {
  const { t } = useTranslation("results");
  return (
    <Button
      size="small"
      variant="ghost"
      aria-expanded={isShown}
      aria-label={t("showSql")}
      title={t("showSql")}
      onClick={() => onChange(!isShown)}
    >
      <ScrollText className="size-3.5" aria-hidden />
      SQL
    </Button>
  );
}
