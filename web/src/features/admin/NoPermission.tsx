/** Said to who is no administrator, or no longer one. */

import { ShieldX } from "lucide-react";
import { useTranslation } from "react-i18next";

import { EmptyState } from "@/components/ui/States";

export function NoPermission() {
  const { t } = useTranslation();
  return <EmptyState icon={ShieldX} title={t("noPermission")} text={t("noPermissionText")} />;
}
