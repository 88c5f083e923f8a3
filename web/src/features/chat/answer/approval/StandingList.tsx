/**
 * The kinds of calls that are approved without asking in this conversation, each with a way back.
 */

import { ShieldAlert, X } from "lucide-react";
import { useTranslation } from "react-i18next";

import { IconButton } from "@/components/ui/IconButton";

import { kindWords } from "../toolWords";
import { removeStanding } from "./standing";
import { useStandingKinds } from "./useStandingKinds";

export function StandingList({ conversationId }: { conversationId: string }) {
  const { t } = useTranslation("answer");
  const kinds = useStandingKinds(conversationId);
  if (kinds.length === 0) return null;
  return (
    <div className="flex flex-wrap items-center gap-1.5 text-xs text-muted">
      <ShieldAlert className="size-4 text-warn" aria-hidden />
      {t("approval.standing")}
      <ul className="flex flex-wrap gap-1.5" aria-label={t("approval.standing")}>
        {kinds.map((kind) => (
          <li key={kind} className="flex items-center rounded-full border border-line pl-2.5">
            {kindWords(kind, t)}
            <IconButton
              isSmall
              icon={X}
              className="size-6 rounded-full"
              label={t("approval.revoke", { tool: kindWords(kind, t) })}
              onClick={() => removeStanding(conversationId, kind)}
            />
          </li>
        ))}
      </ul>
    </div>
  );
}
