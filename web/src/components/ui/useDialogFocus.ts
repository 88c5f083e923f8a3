/** Where the focus goes when a dialog opens, and back to when it closes. */

import { useLayoutEffect, useRef, type RefObject } from "react";

export interface DialogFocus {
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
