/** Change one's own password. */

import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";

import { api, ApiError, call } from "@/api/client";
import { queryClient, type Me } from "@/api/queries";
import { Banner } from "@/components/ui/Banner";
import { Button } from "@/components/ui/Button";
import { Checkbox, Field, Input } from "@/components/ui/Field";
import { Card } from "@/components/ui/Page";
import { toast } from "@/components/ui/toast";
import { useErrorText } from "@/lib/errorText";

const NOTHING = { old: "", next: "", again: "", keepKeys: true };

export function PasswordForm({ me }: { me: Me }) {
  const { t } = useTranslation("settings");
  const { t: auth } = useTranslation("auth");
  const errorText = useErrorText();
  const [typed, setTyped] = useState(NOTHING);
  const [isChecked, setIsChecked] = useState(false);
  const differs = typed.next !== typed.again;
  const changing = useMutation({
    mutationFn: () => {
      const { old: old_password, next: new_password, keepKeys: keep_keys } = typed;
      return call(
        api.POST("/api/auth/password", { body: { old_password, new_password, keep_keys } }),
      );
    },
    onSuccess: async () => {
      setTyped(NOTHING);
      setIsChecked(false);
      toast(auth("passwordChanged"));
      await queryClient.invalidateQueries({ queryKey: ["settings", "keys"] });
    },
  });
  const problem = changing.error;
  const isWrong = problem instanceof ApiError && problem.code === "wrong_password";
  const password = (name: "old" | "next" | "again", autoComplete: string) => ({
    type: "password",
    required: true,
    autoComplete,
    value: typed[name],
    onChange: (event: { target: { value: string } }) =>
      setTyped({ ...typed, [name]: event.target.value }),
  });
  return (
    <Card title={auth("changePassword")}>
      <form
        className="grid gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          setIsChecked(true);
          if (!differs) changing.mutate();
        }}
      >
        <p className="text-sm text-muted">
          {t("signedInAs", { name: me.username })} · {t(`roles.${me.role}`)}
          <br />
          {t("passwordHint")}
        </p>
        {problem && (
          <Banner kind="danger">{isWrong ? auth("oldWrong") : errorText(problem)}</Banner>
        )}
        <input type="text" autoComplete="username" value={me.username} readOnly hidden />
        <Field label={auth("oldPassword")}>
          {(control) => <Input {...control} {...password("old", "current-password")} />}
        </Field>
        <Field label={auth("newPassword")} hint={t("passwordRule")}>
          {(control) => <Input {...control} {...password("next", "new-password")} />}
        </Field>
        <Field
          label={auth("repeatPassword")}
          error={isChecked && differs ? auth("passwordsDiffer") : null}
        >
          {(control) => <Input {...control} {...password("again", "new-password")} />}
        </Field>
        <div>
          <Checkbox
            label={auth("keepKeys")}
            checked={typed.keepKeys}
            onChange={(event) => setTyped({ ...typed, keepKeys: event.target.checked })}
          />
          <p className="mt-1 text-xs text-muted">{t("keepKeysHint")}</p>
        </div>
        <div>
          <Button type="submit" variant="primary" isBusy={changing.isPending}>
            {auth("changePassword")}
          </Button>
        </div>
      </form>
    </Card>
  );
}
