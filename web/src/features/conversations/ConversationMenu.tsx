/** What can be done with a conversation: rename, export, delete. */

import { useMutation } from "@tanstack/react-query";
import { useNavigate, useParams } from "@tanstack/react-router";
import { Ellipsis, Pencil, Trash2 } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";

import { api, call } from "@/api/client";
import { queryClient } from "@/api/queries";
import { FormDialog } from "@/components/ui/Dialog";
import { Field, Input } from "@/components/ui/Field";
import { Menu, MenuItem } from "@/components/ui/Menu";
import { toast } from "@/components/ui/toast";
import { classes } from "@/lib/classes";
import { useErrorText } from "@/lib/errorText";
import { forgetConversation } from "@/lib/store";

import type { ConversationInfo } from "./groups";

interface ConversationMenuProps {
  conversation: ConversationInfo;
  className?: string;
  /** It is being deleted: a drawer closes, so that the way back can be seen and reached. */
  onDelete?: () => void;
}

/** What can be done with a conversation. */
export function ConversationMenu({ conversation, className, onDelete }: ConversationMenuProps) {
  const { t } = useTranslation("chat");
  const { t: common } = useTranslation();
  const [isRenaming, setIsRenaming] = useState(false);
  const remove = useDeletion();
  return (
    <>
      <Menu
        trigger={
          <button
            type="button"
            aria-label={t("list.menu", { title: conversation.title })}
            className={classes(
              "grid size-7 shrink-0 place-items-center rounded-md text-muted hover:bg-line hover:text-text",
              className,
            )}
          >
            <Ellipsis className="size-4" aria-hidden />
          </button>
        }
      >
        <MenuItem icon={Pencil} onSelect={() => setIsRenaming(true)}>
          {t("list.rename")}
        </MenuItem>
        <MenuItem
          icon={Trash2}
          isDanger
          onSelect={() => {
            remove(conversation);
            onDelete?.();
          }}
        >
          {common("delete")}
        </MenuItem>
      </Menu>
      {isRenaming && (
        <RenameDialog conversation={conversation} onClose={() => setIsRenaming(false)} />
      )}
    </>
  );
}

const LONGEST_TITLE = 50;

interface RenameDialogProps {
  conversation: ConversationInfo;
  onClose: () => void;
}

/** Another title for a conversation. */
function RenameDialog({ conversation, onClose }: RenameDialogProps) {
  const { t } = useTranslation("chat");
  const errorText = useErrorText();
  const [title, setTitle] = useState(conversation.title);
  const renaming = useMutation({
    mutationFn: () => {
      const params = { path: { conversation_id: conversation.id } };
      const body = { title: title.trim() };
      return call(api.PATCH("/api/conversations/{conversation_id}", { params, body }));
    },
    onSuccess: async () => {
      onClose();
      await queryClient.invalidateQueries({ queryKey: ["conversations"] });
    },
  });
  return (
    <FormDialog
      title={t("list.renameTitle")}
      width="narrow"
      isBusy={renaming.isPending}
      isDisabled={title.trim() === ""}
      onSubmit={() => renaming.mutate()}
      onClose={onClose}
    >
      <Field
        label={t("list.title")}
        hint={t("list.titleHint")}
        error={renaming.error && errorText(renaming.error)}
      >
        {(control) => (
          <Input
            {...control}
            value={title}
            maxLength={LONGEST_TITLE}
            autoFocus
            onFocus={(event) => event.target.select()}
            onChange={(event) => setTitle(event.target.value)}
          />
        )}
      </Field>
    </FormDialog>
  );
}

interface Deleted {
  conversation: ConversationInfo;
  /** It was on the page: its way back leads there. */
  wasOpen: boolean;
  /** What this browser kept of it is kept again. */
  remember: () => void;
}

/** Delete a conversation, with a way back. */
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
