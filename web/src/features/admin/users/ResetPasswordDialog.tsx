/** Give another user a new password. Their logins end, and their keys unless they are kept. */

import { useState, type SyntheticEvent } from "react";
import { useTranslation } from "react-i18next";

import { api, call } from "@/api/client";
import { Button } from "@/components/ui/Button";
import { Checkbox } from "@/components/ui/Checkbox";
import { Dialog } from "@/components/ui/Dialog";

import { useChange } from "../parts/change";
import { Problem } from "../parts/Problem";
import { SecretOnce } from "../parts/SecretOnce";
import { chosenPassword } from "./password";
import { PasswordChoice } from "./PasswordChoice";
import { USERS } from "./queries";
import type { UserDialogProps } from "./UserTable";

export function ResetPasswordDialog({ user, onClose }: UserDialogProps) {
  const { t } = useTranslation("admin");
  const { t: common } = useTranslation();
  const [isGenerated, setIsGenerated] = useState(true);
  const [typed, setTyped] = useState("");
  const [keepsKeys, setKeepsKeys] = useState(false);
  const reset = useChange(
    async (password: string) => {
      const path = { user_id: user.id };
      const body = { password, keep_keys: keepsKeys };
      await call(api.PUT("/api/users/{user_id}/password", { params: { path }, body }));
      return password;
    },
    {
      keys: [USERS, ["admin", "keys", user.id]],
      ...(!isGenerated && { done: t("users.password.done", { name: user.username }) }),
      onDone: () => !isGenerated && onClose(),
    },
  );
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    reset.mutate(chosenPassword(isGenerated, typed));
  };
  const isDone = reset.data !== undefined;
  return (
    <Dialog
      isOpen
      isSticky
      onClose={onClose}
      title={t("users.password.title", { name: user.username })}
      {...(!isDone && { description: t("users.password.text") })}
      width="narrow"
      footer={
        isDone ? (
          <Button variant="primary" onClick={onClose}>
            {common("close")}
          </Button>
        ) : (
          <>
            <Button onClick={onClose}>{common("cancel")}</Button>
            <Button variant="primary" type="submit" form="reset-password" isBusy={reset.isPending}>
              {t("users.password.set")}
            </Button>
          </>
        )
      }
    >
      {isDone ? (
        <SecretOnce label={t("users.password.shown")} secret={reset.data} />
      ) : (
        <form id="reset-password" className="grid gap-4" onSubmit={submit}>
          <PasswordChoice
            isGenerated={isGenerated}
            typed={typed}
            onGenerated={setIsGenerated}
            onTyped={setTyped}
          />
          <Checkbox
            label={t("users.password.keepKeys")}
            checked={keepsKeys}
            onChange={(event) => setKeepsKeys(event.target.checked)}
          />
          <Problem error={reset.error} />
        </form>
      )}
    </Dialog>
  );
}
