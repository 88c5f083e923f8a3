/** Ask before something that matters or cannot be undone. */

import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";

import { Button } from "./Button";
import { Dialog } from "./Dialog";

interface ConfirmDialogProps {
  isOpen?: boolean;
  title: string;
  text: string;
  confirm: string;
  /** It can be undone. */
  isHarmless?: boolean;
  isBusy?: boolean;
  isDisabled?: boolean;
  onConfirm: () => void;
  onClose: () => void;
  /** What has to be filled in, or what went wrong. */
  children?: ReactNode;
}

export function ConfirmDialog(props: ConfirmDialogProps) {
  const { t } = useTranslation();
  return (
    <Dialog
      isOpen={props.isOpen ?? true}
      onClose={props.onClose}
      title={props.title}
      description={props.text}
      width="narrow"
      footer={
        <>
          <Button onClick={props.onClose}>{t("cancel")}</Button>
          <Button
            variant={props.isHarmless === true ? "primary" : "danger"}
            isBusy={props.isBusy ?? false}
            disabled={props.isDisabled ?? false}
            onClick={props.onConfirm}
          >
            {props.confirm}
          </Button>
        </>
      }
    >
      {props.children}
    </Dialog>
  );
}
