/**
 * A window over the page. Escape and a click outside close it; focus stays inside and comes back.
 */

import { X } from "lucide-react";
import { Dialog as Radix } from "radix-ui";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";

import { classes } from "@/lib/classes";

import { IconButton } from "./IconButton";
import { useDialogFocus } from "./useDialogFocus";

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
