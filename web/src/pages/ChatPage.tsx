/** `/` and `/chat/<id>` */

import { useParams } from "@tanstack/react-router";
import { useEffect } from "react";

import { prepareMarkdown } from "@/components/Markdown";
import { ConversationView } from "@/features/chat/ConversationView";
import { NewChat } from "@/features/chat/NewChat";

export function ChatPage() {
  const { conversationId } = useParams({ strict: false });
  useEffect(prepareMarkdown, []);
  if (conversationId === undefined) return <NewChat />;
  return <ConversationView key={conversationId} conversationId={conversationId} />;
}
