/** Make an API key. Its text is shown this once. */

import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";

import { api, call } from "@/api/client";
import { queryClient } from "@/api/queries";
import { Button } from "@/components/ui/Button";
import { CopyButton } from "@/components/ui/CopyButton";
import { Dialog, FormDialog } from "@/components/ui/Dialog";
import { Field, Input } from "@/components/ui/Field";
import { useErrorText } from "@/lib/errorText";

import { keysQuery } from "./queries";

export function NewKey() {
  const { t } = useTranslation("settings");
  const [isOpen, setIsOpen] = useState(false);
  return (
    <>
      <Button size="small" onClick={() => setIsOpen(true)}>
        {t("keys.create")}
      </Button>
      {isOpen && <NewKeyDialog onClose={() => setIsOpen(false)} />}
    </>
  );
}

function NewKeyDialog({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation("settings");
  const errorText = useErrorText();
  const [name, setName] = useState("");
  const creating = useMutation({
    mutationFn: () => call(api.POST("/api/v1/api-keys", { body: { name: name.trim() } })),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: keysQuery.queryKey }),
  });
  if (creating.data) {
    return (
      <Dialog
        isOpen
        isSticky
        onClose={onClose}
        title={t("keys.newTitle")}
        description={t("keys.newText")}
        width="narrow"
        footer={
          <Button variant="primary" onClick={onClose}>
            {t("keys.done")}
          </Button>
        }
      >
        <div className="flex items-center gap-2 rounded-lg border border-line bg-sunken py-1 pr-1 pl-3">
          <code className="min-w-0 flex-1 font-mono text-sm break-all">{creating.data.key}</code>
          <CopyButton text={creating.data.key} label={t("keys.copyKey")} />
        </div>
      </Dialog>
    );
  }
  return (
    <FormDialog
      title={t("keys.create")}
      width="narrow"
      save={t("keys.create")}
      isBusy={creating.isPending}
      isDisabled={name.trim() === ""}
      onSubmit={() => creating.mutate()}
      onClose={onClose}
    >
      <Field
        label={t("keys.name")}
        hint={t("keys.nameHint")}
        error={creating.error && errorText(creating.error)}
      >
        {(control) => (
          <Input
            {...control}
            value={name}
            maxLength={100}
            autoFocus
            onChange={(event) => setName(event.target.value)}
          />
        )}
      </Field>
    </FormDialog>
  );
}
