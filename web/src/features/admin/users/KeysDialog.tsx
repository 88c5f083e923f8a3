/** A user's API keys: see them, make one, end one. */

import { useQuery } from "@tanstack/react-query";
import { KeyRound } from "lucide-react";
import { useState, type SyntheticEvent } from "react";
import { useTranslation } from "react-i18next";

import { api, call } from "@/api/client";
import { Button } from "@/components/ui/Button";
import { Dialog } from "@/components/ui/Dialog";
import { Field } from "@/components/ui/Field";
import { Input } from "@/components/ui/Input";
import { EmptyState } from "@/components/ui/States";

import { useChange } from "../parts/change";
import { Loaded } from "../parts/Loaded";
import { Problem } from "../parts/Problem";
import { SecretOnce } from "../parts/SecretOnce";
import { KeyTable } from "./KeyTable";
import { keysQuery } from "./queries";
import type { UserDialogProps } from "./UserTable";

export function KeysDialog({ user, onClose }: UserDialogProps) {
  const { t } = useTranslation("admin");
  const [name, setName] = useState("");
  const keys = useQuery(keysQuery(user.id));
  const create = useChange(
    () => {
      const params = { query: { user_id: user.id } };
      return call(api.POST("/api/v1/api-keys", { params, body: { name: name.trim() } }));
    },
    { keys: [keysQuery(user.id).queryKey], onDone: () => setName("") },
  );
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    create.mutate(undefined);
  };
  return (
    <Dialog
      isOpen
      isSticky
      onClose={onClose}
      title={t("users.keys.title", { name: user.username })}
      description={t("users.keys.text")}
    >
      <div className="grid gap-4 pb-3">
        {create.data && (
          <SecretOnce
            label={t("users.keys.shown", { name: create.data.name })}
            secret={create.data.key}
          />
        )}
        <Loaded query={keys} lines={2}>
          {({ items }) =>
            items.length === 0 ? (
              <EmptyState icon={KeyRound} title={t("users.keys.none")} />
            ) : (
              <KeyTable user={user} keys={items} />
            )
          }
        </Loaded>
        <form className="flex items-end gap-2" onSubmit={submit}>
          <div className="min-w-0 flex-1">
            <Field label={t("users.keys.name")}>
              {(control) => (
                <Input
                  {...control}
                  value={name}
                  required
                  maxLength={100}
                  placeholder={t("users.keys.nameExample")}
                  onChange={(event) => setName(event.target.value)}
                />
              )}
            </Field>
          </div>
          <Button type="submit" variant="primary" isBusy={create.isPending}>
            {t("users.keys.add")}
          </Button>
        </form>
        <Problem error={create.error} />
      </div>
    </Dialog>
  );
}
