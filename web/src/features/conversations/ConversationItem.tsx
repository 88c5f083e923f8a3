/** One line of the list. */

import { Link } from "@tanstack/react-router";

import { ConversationMenu } from "./ConversationMenu";
import type { ConversationInfo } from "./groups";

interface ConversationItemProps {
  conversation: ConversationInfo;
  onOpen: () => void;
}

export function ConversationItem({ conversation, onOpen }: ConversationItemProps) {
  return (
    <li className="group relative">
      <Link
        to="/chat/$conversationId"
        params={{ conversationId: conversation.id }}
        preload={false}
        onClick={onOpen}
        title={conversation.title}
        className="block truncate rounded-lg py-1.5 pr-9 pl-2.5 text-sm hover:bg-line/60"
        activeProps={{ className: "bg-line/70 font-medium" }}
      >
        {conversation.title}
      </Link>
      <ConversationMenu
        conversation={conversation}
        onDelete={onOpen}
        className="absolute top-1 right-1 focus-visible:opacity-100 data-[state=open]:opacity-100 group-focus-within:opacity-100 group-hover:opacity-100 md:opacity-0"
      />
    </li>
  );
}
