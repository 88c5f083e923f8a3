/** A generated password, or one that is typed. */

import { useTranslation } from "react-i18next";

import { Checkbox } from "@/components/ui/Checkbox";
import { Field } from "@/components/ui/Field";
import { Input } from "@/components/ui/Input";

interface PasswordChoiceProps {
  isGenerated: boolean;
  typed: string;
  onGenerated: (isGenerated: boolean) => void;
  onTyped: (password: string) => void;
}

export function PasswordChoice({ isGenerated, typed, onGenerated, onTyped }: PasswordChoiceProps) {
  const { t } = useTranslation("admin");
  return (
    <>
      <Checkbox
        label={t("users.password.generate")}
        checked={isGenerated}
        onChange={(event) => onGenerated(event.target.checked)}
      />
      {!isGenerated && (
        <Field label={t("users.password.typed")} hint={t("users.password.typedHint")}>
          {(control) => (
            <Input
              {...control}
              type="password"
              value={typed}
              required
              minLength={8}
              maxLength={72}
              autoComplete="new-password"
              onChange={(event) => onTyped(event.target.value)}
            />
          )}
        </Field>
      )}
    </>
  );
}
