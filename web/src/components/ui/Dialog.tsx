/** Windows over the page: any content, a form, and a question before a change. */

import { X } from "lucide-react";
import { Dialog as Radix } from "radix-ui";
import {
  useId,
  useLayoutEffect,
  useRef,
  type ReactNode,
  type RefObject,
  type SubmitEvent,
} from "react";
import { useTranslation } from "react-i18next";

import { classes } from "@/lib/classes";

import { Button, IconButton } from "./Button";

interface DialogProps {
  isOpen: boolean;
  onClose: () => void;
  title: string;
  description?: string;
  children: ReactNode;
  footer?: ReactNode;
  width?: keyof typeof WIDTHS;
  /** Keep it open on a click outside: something typed would be lost. */
  isSticky?: boolean;
}

const WIDTHS = {
  narrow: "max-w-md",
  medium: "max-w-xl",
  wide: "max-w-4xl",
  full: "h-[90dvh] max-w-[110rem]",
} as const;

/**
 * A window over the page. Escape and a click outside close it; focus stays inside and comes back.
 */
export function Dialog(props: DialogProps) {
  const { isOpen, onClose, title, description, children, footer } = props;
  const { t } = useTranslation();
  const focus = useDialogFocus(isOpen);
  return (
    <Radix.Root open={isOpen} onOpenChange={(open) => !open && onClose()}>
      <Radix.Portal>
        <Radix.Overlay className="fixed inset-0 z-40 bg-black/45" />
        <Radix.Content
          {...focus}
          onPointerDownOutside={(event) => props.isSticky === true && event.preventDefault()}
          {...(description === undefined && { "aria-describedby": undefined })}
          className={classes(
            "fixed top-1/2 left-1/2 z-40 flex max-h-[90dvh] w-[calc(100vw-2rem)] -translate-x-1/2 -translate-y-1/2 flex-col rounded-xl border border-line bg-raised shadow-float outline-none",
            WIDTHS[props.width ?? "medium"],
          )}
        >
          <header className="flex items-start gap-3 px-5 pt-4 pb-2">
            <div className="min-w-0 flex-1">
              <Radix.Title className="text-base font-semibold">{title}</Radix.Title>
              {description !== undefined && (
                <Radix.Description className="mt-1 text-sm text-muted">
                  {description}
                </Radix.Description>
              )}
            </div>
            <Radix.Close asChild>
              <IconButton icon={X} label={t("close")} isSmall />
            </Radix.Close>
          </header>
          <div className="min-h-0 flex-1 overflow-y-auto px-5 py-2">{children}</div>
          {footer !== undefined && (
            <footer className="flex flex-wrap justify-end gap-2 px-5 pt-2 pb-4">{footer}</footer>
          )}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}

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

/** A form in a window: its fields, what went wrong, and the buttons that save or leave it. */
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

/** Ask before something that matters or cannot be undone. */
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

/**
 * After a form was refused: the first wrong field has the focus, so that it is seen and read out.
 */
export function focusFirstProblem(form: HTMLFormElement): void {
  requestAnimationFrame(() => {
    const wrong = form.querySelector<HTMLElement>('[aria-invalid="true"]');
    wrong?.focus();
  });
}

interface DialogFocus {
  ref: RefObject<HTMLDivElement | null>;
  onOpenAutoFocus: (event: Event) => void;
  onCloseAutoFocus: (event: Event) => void;
}

/**
 * For a dialog that is opened by state and not by a trigger of its own. Spread it on the content.
 */
export function useDialogFocus(isOpen: boolean): DialogFocus {
  const ref = useRef<HTMLDivElement>(null);
  const opener = useRef<HTMLElement | null>(null);
  useLayoutEffect(() => {
    if (!isOpen) return;
    opener.current = openerNow() ?? handedOver;
    return () => handOver(opener.current);
  }, [isOpen]);
  return {
    ref,
    onOpenAutoFocus: (event) => {
      event.preventDefault(); // not the first button: its tooltip would take the first Escape
      ref.current?.focus();
    },
    onCloseAutoFocus: (event) => {
      event.preventDefault();
      opener.current?.focus();
    },
  };
}

/**
 * The opener of a dialog that gives way to another in the same rendering: it is the other's, too.
 */
let handedOver: HTMLElement | null = null;

function handOver(opener: HTMLElement | null): void {
  handedOver = opener;
  queueMicrotask(() => {
    handedOver = null;
  });
}

/**
 * What has the focus, null if nothing has; of an item of a menu, which is gone by then, the menu's
 * button.
 */
function openerNow(): HTMLElement | null {
  const active = document.activeElement;
  const buttonId = active?.closest('[role="menu"]')?.getAttribute("aria-labelledby");
  const opener = buttonId ? document.getElementById(buttonId) : active;
  return opener instanceof HTMLElement && opener !== document.body ? opener : null;
}
