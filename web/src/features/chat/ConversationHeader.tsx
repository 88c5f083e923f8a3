/** The title of the conversation, and what can be done with it. */

import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";

import { usePageTitle } from "@/lib/pageTitle";
import { ConversationMenu } from "@/features/conversations/ConversationMenu";
import { conversationQuery } from "@/features/conversations/queries";

interface ConversationHeaderProps {
  conversationId: string;
  /** Whether the server has it already. */
  isStored: boolean;
}

export function ConversationHeader({ conversationId, isStored }: ConversationHeaderProps) {
  const { t } = useTranslation("chat");
  const conversation = useQuery({ ...conversationQuery(conversationId), enabled: isStored }).data;
  const title = conversation?.title ?? t("newTitle");
  usePageTitle(title);
  return (
    <header className="flex h-11 shrink-0 items-center gap-2 border-b border-line px-4">
      <h1 className="min-w-0 truncate text-sm font-medium">{title}</h1>
      {conversation && <ConversationMenu conversation={conversation} />}
    </header>
  );
}
