/** Passwords of accounts: a new account's, and another one for an account that exists. */

import { useState } from "react";
import { useTranslation } from "react-i18next";

import { api, call } from "@/api/client";
import { Button } from "@/components/ui/Button";
import { Dialog } from "@/components/ui/Dialog";
import { toast } from "@/components/ui/toast";

import { SecretOnce } from "../kit/change";
import { checkbox, choice, EditDialog, input, PLAIN, type FieldList } from "../kit/form";
import { USERS, type User } from "../kit/people";

/** Letters and digits that are not mistaken for one another. */
const ALPHABET = "abcdefghjkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789";
const LENGTH = 20;

/** A random password of about 115 bits. */
export function generatePassword(): string {
  let password = "";
  // bytes beyond the last whole multiple are dropped: every character is equally likely
  const limit = 256 - (256 % ALPHABET.length);
  while (password.length < LENGTH) {
    for (const byte of crypto.getRandomValues(new Uint8Array(LENGTH))) {
      if (byte < limit && password.length < LENGTH)
        password += ALPHABET.charAt(byte % ALPHABET.length);
    }
  }
  return password;
}

interface PasswordValues {
  isGenerated: boolean;
  typed: string;
}

const GENERATED: PasswordValues = { isGenerated: true, typed: "" };

/** A generated password is used when none was typed. */
export function chosenPassword({ isGenerated, typed }: PasswordValues): string {
  return isGenerated ? generatePassword() : typed;
}

function usePasswordFields(): (form: PasswordValues) => FieldList<PasswordValues> {
  const { t } = useTranslation("admin");
  return ({ isGenerated }) => [
    checkbox("isGenerated", t("users.password.generate")),
    !isGenerated &&
      input("typed", t("users.password.typed"), {
        hint: t("users.password.typedHint"),
        type: "password",
        required: true,
        minLength: 8,
        maxLength: 72,
        autoComplete: "new-password",
      }),
  ];
}

const ROLES = ["user", "admin"] as const;

interface NewUser extends PasswordValues {
  username: string;
  role: (typeof ROLES)[number];
}

/** A generated password is shown once, after the account exists. */
export function CreateUserDialog({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation("admin");
  const passwordFields = usePasswordFields();
  const [created, setCreated] = useState<{ name: string; password: string } | null>(null);
  if (created)
    return (
      <GeneratedDialog
        title={t("users.created", { name: created.name })}
        password={created.password}
        onClose={onClose}
      />
    );
  return (
    <EditDialog
      title={t("users.add")}
      save={t("users.add")}
      width="narrow"
      initial={(): NewUser => ({ username: "", role: "user", ...GENERATED })}
      fields={({ form }) => [
        input("username", t("users.name"), {
          hint: t("users.nameHint"),
          ...PLAIN,
          required: true,
          minLength: 3,
          maxLength: 20,
          pattern: "[A-Za-z0-9_]+",
        }),
        choice(
          "role",
          t("users.role"),
          ROLES.map((value) => ({ value, label: t(`users.roles.${value}`) })),
          { hint: t(`users.roleHints.${form.role}`) },
        ),
        ...passwordFields(form),
      ]}
      run={async (form) => {
        const password = chosenPassword(form);
        const body = { username: form.username.trim(), password, role: form.role };
        return { name: (await call(api.POST("/api/users", { body }))).username, password };
      }}
      keys={[USERS]}
      onDone={(saved, form) => (form.isGenerated ? setCreated(saved) : onClose())}
      onClose={onClose}
    />
  );
}

/** Another password for a user. Their logins end, and their keys unless they are kept. */
export function ResetPasswordDialog({ user, onClose }: { user: User; onClose: () => void }) {
  const { t } = useTranslation("admin");
  const passwordFields = usePasswordFields();
  const [generated, setGenerated] = useState<string | null>(null);
  const title = t("users.password.title", { name: user.username });
  if (generated !== null)
    return <GeneratedDialog title={title} password={generated} onClose={onClose} />;
  return (
    <EditDialog
      title={title}
      description={t("users.password.text")}
      save={t("users.password.set")}
      width="narrow"
      initial={() => ({ ...GENERATED, keepsKeys: false })}
      fields={({ form }) => [
        ...passwordFields(form),
        checkbox("keepsKeys", t("users.password.keepKeys")),
      ]}
      run={async (form) => {
        const password = chosenPassword(form);
        const params = { path: { user_id: user.id } };
        const body = { password, keep_keys: form.keepsKeys };
        await call(api.PUT("/api/users/{user_id}/password", { params, body }));
        return password;
      }}
      keys={[USERS, ["admin", "keys", user.id]]}
      onDone={(password, form) => {
        if (form.isGenerated) {
          setGenerated(password);
          return;
        }
        toast(t("users.password.done", { name: user.username }));
        onClose();
      }}
      onClose={onClose}
    />
  );
}

interface GeneratedDialogProps {
  title: string;
  password: string;
  onClose: () => void;
}

function GeneratedDialog({ title, password, onClose }: GeneratedDialogProps) {
  const { t } = useTranslation("admin");
  const { t: common } = useTranslation();
  return (
    <Dialog
      isOpen
      isSticky
      onClose={onClose}
      title={title}
      width="narrow"
      footer={
        <Button variant="primary" onClick={onClose}>
          {common("close")}
        </Button>
      }
    >
      <SecretOnce label={t("users.password.shown")} secret={password} />
    </Dialog>
  );
}
