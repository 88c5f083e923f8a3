/** Delete a conversation, with a way back. */

import { useMutation } from "@tanstack/react-query";
import { useNavigate, useParams } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";

import { api, call } from "@/api/client";
import { queryClient } from "@/api/queries";
import { toast } from "@/components/ui/toast";
import { useErrorText } from "@/lib/errorText";
import { forgetConversation } from "@/lib/store";

import type { ConversationInfo } from "./groups";

interface Deleted {
  conversation: ConversationInfo;
  /** It was on the page: its way back leads there. */
  wasOpen: boolean;
  /** What this browser kept of it is kept again. */
  remember: () => void;
}

export function useDeletion(): (conversation: ConversationInfo) => void {
  const { t } = useTranslation("chat");
  const { t: common } = useTranslation();
  const errorText = useErrorText();
  const navigate = useNavigate();
  const { conversationId: openId } = useParams({ strict: false });

  const onError = (error: unknown) => toast(errorText(error), { tone: "danger" });
  const onSettled = () => queryClient.invalidateQueries({ queryKey: ["conversations"] });
  const path = ({ id }: ConversationInfo) => ({ params: { path: { conversation_id: id } } });

  const restoration = useMutation({
    mutationFn: ({ conversation }: Deleted) =>
      call(api.POST("/api/conversations/{conversation_id}/restore", path(conversation))),
    onSuccess: async ({ id, title }, { wasOpen, remember }) => {
      remember();
      toast(t("list.restored", { title }));
      if (wasOpen) await navigate({ to: "/chat/$conversationId", params: { conversationId: id } });
    },
    onError,
    onSettled,
  });
  const deletion = useMutation({
    mutationFn: (conversation: ConversationInfo) =>
      call(api.DELETE("/api/conversations/{conversation_id}", path(conversation))),
    onSuccess: async (_, conversation) => {
      const { id, title } = conversation;
      const wasOpen = id === openId;
      if (wasOpen) await navigate({ to: "/" }); // first: the page writes its draft down when it goes
      const remember = forgetConversation(id);
      const run = () => restoration.mutate({ conversation, wasOpen, remember });
      toast(t("list.deleted", { title }), { action: { label: common("undo"), run } });
    },
    onError,
    onSettled,
  });
  return (conversation) => deletion.mutate(conversation);
}
