/**
 * `/`: a conversation that begins with its first question, so that no empty ones are left behind.
 */

import { useNavigate } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";

import { Composer } from "@/features/composer/Composer";
import { useNewDraftId } from "@/features/composer/useNewDraftId";
import type { Question } from "@/events/state";
import { serverNow } from "@/lib/clock";
import { newId } from "@/lib/ids";
import { usePageTitle } from "@/lib/pageTitle";

import { ModelNote } from "./ModelNote";
import { outbox } from "./outbox";
import { Welcome } from "./Welcome";

export function NewChat() {
  const { t } = useTranslation("chat");
  const navigate = useNavigate();
  const draftId = useNewDraftId();
  usePageTitle(t("newTitle"));
  const ask = (question: Question) => {
    const conversationId = newId();
    outbox.begin(conversationId, { clientMessageId: newId(), question, at: serverNow() });
    void navigate({ to: "/chat/$conversationId", params: { conversationId } });
  };
  return (
    <div className="flex h-full flex-col">
      <ModelNote />
      <Welcome onAsk={ask}>
        <Composer key={draftId} conversationId={draftId} onSend={ask} />
      </Welcome>
    </div>
  );
}
