/** The address of a conversation that is not this user's, or not there. */

import { Link } from "@tanstack/react-router";
import { MessageCircleQuestion } from "lucide-react";
import { useTranslation } from "react-i18next";

import { EmptyState } from "@/components/ui/States";

export function MissingConversation() {
  const { t } = useTranslation("chat");
  return (
    <div className="grid h-full place-items-center">
      <h1 className="sr-only">{t("log")}</h1>
      <EmptyState
        icon={MessageCircleQuestion}
        title={t("missingTitle")}
        text={t("missingText")}
        action={
          <Link to="/" className="text-accent underline">
            {t("startNew")}
          </Link>
        }
      />
    </div>
  );
}
