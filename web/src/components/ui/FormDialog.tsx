/** A form in a window: its fields, what went wrong, and the buttons that save or leave it. */

import { useId, type ReactNode, type SubmitEvent } from "react";
import { useTranslation } from "react-i18next";

import { Button } from "./Button";
import { Dialog } from "./Dialog";

interface FormDialogProps {
  title: string;
  description?: string;
  width?: "narrow" | "medium" | "wide";
  /** What the button says; without, "Save". */
  save?: string;
  isBusy: boolean;
  /** There is nothing to save yet. */
  isDisabled?: boolean;
  /** The form looks at its fields itself; else the browser does. */
  hasOwnChecks?: boolean;
  onSubmit: (form: HTMLFormElement) => void;
  onClose: () => void;
  /** Beside the buttons, where it is seen in a long form. */
  problem?: ReactNode;
  note?: ReactNode;
  children: ReactNode;
}

export function FormDialog(props: FormDialogProps) {
  const { t } = useTranslation();
  const id = useId();
  const submit = (event: SubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    props.onSubmit(event.currentTarget);
  };
  return (
    <Dialog
      isOpen
      isSticky
      onClose={props.onClose}
      title={props.title}
      {...(props.description !== undefined && { description: props.description })}
      width={props.width ?? "medium"}
      footer={
        <div className="grid w-full gap-2">
          {props.problem}
          <div className="flex flex-wrap items-center justify-end gap-2">
            {props.note !== undefined && <p className="flex-1 text-xs text-muted">{props.note}</p>}
            <Button onClick={props.onClose}>{t("cancel")}</Button>
            <Button
              variant="primary"
              type="submit"
              form={id}
              isBusy={props.isBusy}
              disabled={props.isDisabled ?? false}
            >
              {props.save ?? t("save")}
            </Button>
          </div>
        </div>
      }
    >
      <form
        id={id}
        onSubmit={submit}
        noValidate={props.hasOwnChecks ?? false}
        className="grid gap-4 pb-2"
      >
        {props.children}
      </form>
    </Dialog>
  );
}
