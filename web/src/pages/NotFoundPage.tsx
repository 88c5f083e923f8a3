/** An address that leads nowhere. */

import { Link } from "@tanstack/react-router";
import { Compass } from "lucide-react";
import { useTranslation } from "react-i18next";

import { EmptyState } from "@/components/ui/States";
import { usePageTitle } from "@/lib/pageTitle";

export function NotFoundPage() {
  const { t } = useTranslation();
  usePageTitle(t("notFound"));
  return (
    <main className="grid min-h-full place-items-center">
      <EmptyState
        isPage
        icon={Compass}
        title={t("notFound")}
        action={
          <Link to="/" className="text-accent underline">
            {t("goHome")}
          </Link>
        }
      />
    </main>
  );
}
