/** Add an account. A generated password is shown once, after the account is there. */

import { useState, type SyntheticEvent } from "react";
import { useTranslation } from "react-i18next";

import { api, call, type Schemas } from "@/api/client";
import { Button } from "@/components/ui/Button";
import { Dialog } from "@/components/ui/Dialog";
import { Field } from "@/components/ui/Field";
import { Input, Select } from "@/components/ui/Input";

import { useChange } from "../parts/change";
import { Problem } from "../parts/Problem";
import { SecretOnce } from "../parts/SecretOnce";
import { chosenPassword } from "./password";
import { PasswordChoice } from "./PasswordChoice";
import { USERS } from "./queries";

type Role = Schemas["UserInfo"]["role"];

export function CreateUserDialog({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation("admin");
  const { t: common } = useTranslation();
  const [username, setUsername] = useState("");
  const [role, setRole] = useState<Role>("user");
  const [isGenerated, setIsGenerated] = useState(true);
  const [typed, setTyped] = useState("");
  const create = useChange(
    async (password: string) => {
      const body = { username: username.trim(), password, role };
      const user = await call(api.POST("/api/users", { body }));
      return { user, password };
    },
    { keys: [USERS], onDone: () => !isGenerated && onClose() },
  );
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    create.mutate(chosenPassword(isGenerated, typed));
  };
  if (create.data)
    return (
      <Dialog
        isOpen
        isSticky
        onClose={onClose}
        title={t("users.created", { name: create.data.user.username })}
        width="narrow"
        footer={
          <Button variant="primary" onClick={onClose}>
            {common("close")}
          </Button>
        }
      >
        <SecretOnce label={t("users.password.shown")} secret={create.data.password} />
      </Dialog>
    );
  return (
    <Dialog
      isOpen
      isSticky
      onClose={onClose}
      title={t("users.add")}
      width="narrow"
      footer={
        <>
          <Button onClick={onClose}>{common("cancel")}</Button>
          <Button variant="primary" type="submit" form="create-user" isBusy={create.isPending}>
            {t("users.add")}
          </Button>
        </>
      }
    >
      <form id="create-user" className="grid gap-4" onSubmit={submit}>
        <Field label={t("users.name")} hint={t("users.nameHint")}>
          {(control) => (
            <Input
              {...control}
              value={username}
              required
              minLength={3}
              maxLength={20}
              pattern="[A-Za-z0-9_]+"
              autoComplete="off"
              spellCheck={false}
              onChange={(event) => setUsername(event.target.value)}
            />
          )}
        </Field>
        <Field label={t("users.role")} hint={t(`users.roleHints.${role}`)}>
          {(control) => (
            <Select
              {...control}
              value={role}
              onChange={(event) => setRole(event.target.value === "admin" ? "admin" : "user")}
            >
              <option value="user">{t("users.roles.user")}</option>
              <option value="admin">{t("users.roles.admin")}</option>
            </Select>
          )}
        </Field>
        <PasswordChoice
          isGenerated={isGenerated}
          typed={typed}
          onGenerated={setIsGenerated}
          onTyped={setTyped}
        />
        <Problem error={create.error} />
      </form>
    </Dialog>
  );
}
