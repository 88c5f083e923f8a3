/** Another title for a conversation. */

import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";

import { api, call } from "@/api/client";
import { queryClient } from "@/api/queries";
import { FormDialog } from "@/components/ui/Dialog";
import { Field, Input } from "@/components/ui/Field";
import { useErrorText } from "@/lib/errorText";

import type { ConversationInfo } from "./groups";

const LONGEST_TITLE = 50;

interface RenameDialogProps {
  conversation: ConversationInfo;
  onClose: () => void;
}

export function RenameDialog({ conversation, onClose }: RenameDialogProps) {
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
