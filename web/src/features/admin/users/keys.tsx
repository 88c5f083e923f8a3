/** A user's API keys: list, create, revoke. */

import { useQuery } from "@tanstack/react-query";
import { KeyRound } from "lucide-react";
import { useState, type ReactNode, type SyntheticEvent } from "react";
import { useTranslation } from "react-i18next";

import { api, call, type Schemas } from "@/api/client";
import { Button } from "@/components/ui/Button";
import { Dialog } from "@/components/ui/Dialog";
import { EmptyState } from "@/components/ui/States";
import type { Column } from "@/components/ui/Table";
import { formatDate, formatDateTime } from "@/lib/format";

import { Problem, SecretOnce, useChange } from "../kit/change";
import { Fields, input } from "../kit/form";
import { confirmed, ResourceList } from "../kit/list";
import type { User } from "../kit/people";
import { userKeysQuery } from "../queries";

export function KeysDialog({ user, onClose }: { user: User; onClose: () => void }) {
  const { t } = useTranslation("admin");
  const keys = useQuery(userKeysQuery(user.id));
  const columns: Column<Schemas["ApiKeyInfo"]>[] = [
    { header: t("users.keys.name"), cell: (key) => key.name },
    { header: t("users.keys.prefix"), cell: (key) => <code>{key.prefix}…</code> },
    { header: t("users.since"), isMinor: true, cell: (key) => formatDate(key.created_at) },
    {
      header: t("users.keys.lastUsed"),
      isMinor: true,
      cell: (key) =>
        key.last_used === null ? t("users.keys.neverUsed") : formatDateTime(key.last_used),
    },
  ];
  const revoke = (keyId: string) => {
    const params = { path: { key_id: keyId }, query: { user_id: user.id } };
    return call(api.DELETE("/api/v1/api-keys/{key_id}", { params }));
  };
  const title = t("users.keys.title", { name: user.username });
  return (
    <Dialog isOpen isSticky onClose={onClose} title={title} description={t("users.keys.text")}>
      <NewUserKey user={user}>
        <ResourceList
          label={title}
          query={keys}
          lines={2}
          columns={columns}
          rowKey={(key) => key.id}
          buttons={(key) => [
            confirmed({
              label: t("users.keys.endNamed", { name: key.name }),
              text: t("users.keys.end"),
              isDanger: true,
              title: t("users.keys.endTitle", { name: key.name }),
              explanation: t("users.keys.endText"),
              run: () => revoke(key.id),
              keys: [userKeysQuery(user.id).queryKey],
            }),
          ]}

          empty={<EmptyState icon={KeyRound} title={t("users.keys.none")} />}
        />
      </NewUserKey>
    </Dialog>
  );
}

/** The form of a new key below the list; once it is created the key stands above. */
function NewUserKey({ user, children }: { user: User; children: ReactNode }) {
  const { t } = useTranslation("admin");
  const [form, setForm] = useState({ name: "" });
  const create = useChange(
    () => {
      const params = { query: { user_id: user.id } };
      return call(api.POST("/api/v1/api-keys", { params, body: { name: form.name.trim() } }));
    },
    { keys: [userKeysQuery(user.id).queryKey], onDone: () => setForm({ name: "" }) },
  );
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    create.mutate(undefined);
  };
  return (
    <div className="grid gap-4 pb-3">
      {create.data && (
        <SecretOnce
          label={t("users.keys.shown", { name: create.data.name })}
          secret={create.data.key}
        />
      )}
      {children}
      <form className="flex items-end gap-2" onSubmit={submit}>
        <div className="min-w-0 flex-1">
          <Fields
            form={form}
            fields={[
              input("name", t("users.keys.name"), {
                required: true,
                maxLength: 100,
                placeholder: t("users.keys.nameExample"),
              }),
            ]}
            change={(changes) => setForm({ ...form, ...changes })}
          />
        </div>
        <Button type="submit" variant="primary" isBusy={create.isPending}>
          {t("users.keys.add")}
        </Button>
      </form>
      <Problem error={create.error} />
    </div>
  );
}
