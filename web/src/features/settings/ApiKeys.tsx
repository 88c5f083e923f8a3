/** The user's API keys: list, create, revoke. */

import { useMutation, useQuery } from "@tanstack/react-query";
import { Trash2 } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";

import { api, call, type Schemas } from "@/api/client";
import { queryClient } from "@/api/queries";
import { Banner } from "@/components/ui/Banner";
import { Button, IconButton } from "@/components/ui/Button";
import { CopyButton } from "@/components/ui/CopyButton";
import { ConfirmDialog, Dialog, FormDialog } from "@/components/ui/Dialog";
import { Field, Input } from "@/components/ui/Field";
import { Card } from "@/components/ui/Page";
import { ErrorState, LoadingState } from "@/components/ui/States";
import { toast } from "@/components/ui/toast";
import { useErrorText } from "@/lib/errorText";
import { formatDate, formatDateTime } from "@/lib/format";

import { keysQuery } from "./queries";

type Key = Schemas["ApiKeyInfo"];

/** The user's own API keys: made, shown once, revoked. */
export function ApiKeys() {
  const { t } = useTranslation("settings");
  const errorText = useErrorText();
  const keys = useQuery(keysQuery);
  const [doomed, setDoomed] = useState<Key | null>(null);
  const revoking = useMutation({
    mutationFn: (key: Key) =>
      call(api.DELETE("/api/v1/api-keys/{key_id}", { params: { path: { key_id: key.id } } })),
    onSuccess: () => toast(t("keys.revoked")),
    onError: (error) => toast(errorText(error), { tone: "danger" }),
    onSettled: async () => {
      setDoomed(null);
      await queryClient.invalidateQueries({ queryKey: keysQuery.queryKey });
    },
  });
  return (
    <Card title={t("keys.title")} actions={<NewKey />}>
      <p className="text-sm text-muted">{t("keys.text")}</p>
      {keys.isPending && <LoadingState lines={2} />}
      {keys.isError && <ErrorState error={keys.error} onRetry={() => void keys.refetch()} />}
      {keys.data?.items.some((key) => key.is_by_other) === true && (
        <div className="mt-3">
          <Banner kind="warn">{t("keys.byOther")}</Banner>
        </div>
      )}
      {keys.data?.items.length === 0 && <p className="mt-3 text-sm">{t("keys.empty")}</p>}
      <ul className="mt-2 divide-y divide-line">
        {keys.data?.items.map((key) => (
          <KeyLine key={key.id} apiKey={key} onRevoke={() => setDoomed(key)} />
        ))}
      </ul>
      <ConfirmDialog
        isOpen={doomed !== null}
        title={t("keys.revokeTitle")}
        text={t("keys.revokeText", { name: doomed?.name ?? "" })}
        confirm={t("keys.revoke")}
        isBusy={revoking.isPending}
        onConfirm={() => doomed && revoking.mutate(doomed)}
        onClose={() => setDoomed(null)}
      />
    </Card>
  );
}

function KeyLine({ apiKey, onRevoke }: { apiKey: Key; onRevoke: () => void }) {
  const { t } = useTranslation("settings");
  const { name, prefix, created_at: createdAt, last_used: lastUsed } = apiKey;
  const { created_by: maker, is_by_other: isByOther } = apiKey;
  return (
    <li className="flex items-center gap-3 py-2 text-sm">
      <div className="min-w-0 flex-1">
        <p className="truncate font-medium">{name}</p>
        <p className="text-xs text-muted">
          <code className="font-mono">{prefix}…</code> · {t("keys.created")} {formatDate(createdAt)}{" "}
          · {t("keys.lastUsed")} {lastUsed === null ? t("keys.never") : formatDateTime(lastUsed)}
        </p>
        {isByOther && (
          <p className="text-xs text-warn">{t("keys.madeBy", { name: maker ?? "" })}</p>
        )}
      </div>
      <IconButton
        icon={Trash2}
        isSmall
        label={t("keys.revokeNamed", { name })}
        onClick={onRevoke}
      />
    </li>
  );
}

/** Make an API key. Its text is shown this once. */
function NewKey() {
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
