/** The conversations and the other pages; at phone width a drawer over the page. */

import { Dialog } from "radix-ui";
import { useTranslation } from "react-i18next";

import { useDialogFocus } from "@/components/ui/Dialog";

import { SideBarContent } from "./SideBarContent";
import { useIsWide } from "./useIsWide";

interface SideBarProps {
  isOpen: boolean;
  onClose: () => void;
}

const NOTHING = () => undefined;

export function SideBar({ isOpen, onClose }: SideBarProps) {
  const { t } = useTranslation();
  const isWide = useIsWide();
  const focus = useDialogFocus(isOpen);
  if (isWide) {
    return (
      <aside
        aria-label={t("menu")}
        className="flex w-72 shrink-0 flex-col border-r border-line bg-sunken"
      >
        <SideBarContent onLeave={NOTHING} />
      </aside>
    );
  }
  return (
    <Dialog.Root open={isOpen} onOpenChange={(open) => !open && onClose()}>
      <Dialog.Portal>
        <Dialog.Overlay className="fixed inset-0 z-30 bg-black/40" />
        <Dialog.Content
          {...focus}
          aria-describedby={undefined}
          className="fixed inset-y-0 left-0 z-30 flex w-80 max-w-[calc(100vw-3rem)] flex-col border-r border-line bg-sunken shadow-float outline-none"
        >
          <Dialog.Title className="sr-only">{t("menu")}</Dialog.Title>
          <SideBarContent onLeave={onClose} isDrawer />
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>
  );
}
