/** User name and password. */

import { useState } from "react";
import { useTranslation } from "react-i18next";

import { api, ApiError, call } from "@/api/client";
import { Banner } from "@/components/ui/Banner";
import { Button } from "@/components/ui/Button";
import { Field, Input } from "@/components/ui/Field";
import { useErrorText } from "@/lib/errorText";

export function SignInForm({ onDone }: { onDone: () => void }) {
  const { t } = useTranslation("auth");
  const errorText = useErrorText();
  const [problem, setProblem] = useState<string | null>(null);
  const [isBusy, setIsBusy] = useState(false);

  const textOf = (error: unknown): string => {
    if (error instanceof ApiError && error.status === 401) return t("wrong");
    if (error instanceof ApiError && error.status === 429) return t("tooMany");
    return errorText(error);
  };

  const submit = async (form: FormData) => {
    setIsBusy(true);
    setProblem(null);
    const read = (name: string) => {
      const value = form.get(name);
      return typeof value === "string" ? value : "";
    };
    try {
      const body = { username: read("username"), password: read("password") };
      await call(api.POST("/api/auth/login", { body }));
      onDone();
    } catch (error) {
      setProblem(textOf(error));
    } finally {
      setIsBusy(false);
    }
  };

  return (
    <form
      className="grid gap-4"
      onSubmit={(event) => {
        event.preventDefault();
        void submit(new FormData(event.currentTarget));
      }}
    >
      {problem !== null && <Banner kind="danger">{problem}</Banner>}
      <Field label={t("username")}>
        {(control) => (
          <Input {...control} name="username" autoComplete="username" required autoFocus />
        )}
      </Field>
      <Field label={t("password")}>
        {(control) => (
          <Input
            {...control}
            name="password"
            type="password"
            autoComplete="current-password"
            required
          />
        )}
      </Field>
      <Button type="submit" variant="primary" isBusy={isBusy}>
        {t("submit")}
      </Button>
    </form>
  );
}
