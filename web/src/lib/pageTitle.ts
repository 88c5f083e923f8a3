/** What the browser's tab says. */

import { useEffect } from "react";
import { useTranslation } from "react-i18next";

export function usePageTitle(title: string): void {
  const { t } = useTranslation();
  const appName = t("appName");
  useEffect(() => {
    document.title = title === "" ? appName : `${title} · ${appName}`;
    return () => {
      document.title = appName;
    };
  }, [title, appName]);
}
