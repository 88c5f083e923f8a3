/** Another title for a conversation. */

import { useMutation } from "@tanstack/react-query";
import { useId, useState } from "react";
import { useTranslation } from "react-i18next";

import { api, call } from "@/api/client";
import { queryClient } from "@/api/queries";
import { Button } from "@/components/ui/Button";
import { Dialog } from "@/components/ui/Dialog";
import { Field } from "@/components/ui/Field";
import { Input } from "@/components/ui/Input";
import { useErrorText } from "@/lib/errorText";

import type { ConversationInfo } from "./groups";

const LONGEST_TITLE = 50;

interface RenameDialogProps {
  conversation: ConversationInfo;
  onClose: () => void;
}

export function RenameDialog({ conversation, onClose }: RenameDialogProps) {
  const { t } = useTranslation("chat");
  const { t: common } = useTranslation();
  const errorText = useErrorText();
  const formId = useId();
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
    <Dialog
      isOpen
      onClose={onClose}
      title={t("list.renameTitle")}
      width="narrow"
      footer={
        <>
          <Button onClick={onClose}>{common("cancel")}</Button>
          <Button
            type="submit"
            form={formId}
            variant="primary"
            isBusy={renaming.isPending}
            disabled={title.trim() === ""}
          >
            {common("save")}
          </Button>
        </>
      }
    >
      <form
        id={formId}
        onSubmit={(event) => {
          event.preventDefault();
          renaming.mutate();
        }}
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
      </form>
    </Dialog>
  );
}
