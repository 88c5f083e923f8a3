/** Ask before something is gone for good: its name has to be typed. */

import { useState } from "react";
import { useTranslation } from "react-i18next";

import { ConfirmDialog } from "@/components/ui/ConfirmDialog";
import { Field } from "@/components/ui/Field";
import { Input } from "@/components/ui/Input";

import { Problem } from "./Problem";

interface TypeToConfirmProps {
  title: string;
  text: string;
  /** What has to be typed. */
  name: string;
  confirm: string;
  isBusy: boolean;
  error: unknown;
  onConfirm: () => void;
  onClose: () => void;
}

export function TypeToConfirm(props: TypeToConfirmProps) {
  const { t: admin } = useTranslation("admin");
  const [typed, setTyped] = useState("");
  const isSame = typed === props.name;
  return (
    <ConfirmDialog
      title={props.title}
      text={props.text}
      confirm={props.confirm}
      isBusy={props.isBusy}
      isDisabled={!isSame}
      onConfirm={props.onConfirm}
      onClose={props.onClose}
    >
      <form
        className="grid gap-3"
        onSubmit={(event) => {
          event.preventDefault();
          if (isSame) props.onConfirm();
        }}
      >
        <Field label={admin("typeToConfirm", { name: props.name })}>
          {(control) => (
            <Input
              {...control}
              value={typed}
              autoComplete="off"
              spellCheck={false}
              onChange={(event) => setTyped(event.target.value)}
            />
          )}
        </Field>
        <Problem error={props.error} />
      </form>
    </ConfirmDialog>
  );
}
