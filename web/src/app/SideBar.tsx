/** The side bar: beside a wide page, over a narrow one. */

import { Link } from "@tanstack/react-router";
import {
  ChartNoAxesColumn,
  Database,
  Plug,
  ShieldCheck,
  SquarePen,
  X,
  type LucideIcon,
} from "lucide-react";
import { Dialog } from "radix-ui";
import { useSyncExternalStore } from "react";
import { useTranslation } from "react-i18next";

import { useMe } from "@/api/queries";
import { IconButton } from "@/components/ui/Button";
import { useDialogFocus } from "@/components/ui/Dialog";
import { ConversationList } from "@/features/conversations/ConversationList";

import { UserMenu } from "./UserMenu";

interface SideBarProps {
  isOpen: boolean;
  onClose: () => void;
}

const NOTHING = () => undefined;

/** The conversations and the other pages; at phone width a drawer over the page. */
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

interface SideBarContentProps {
  /** A page was chosen. */
  onLeave: () => void;
  isDrawer?: boolean;
}

/** What stands in the side bar: the way to each page, and the account. */
function SideBarContent({ onLeave, isDrawer = false }: SideBarContentProps) {
  const { t } = useTranslation();
  const me = useMe();
  return (
    <>
      <div className="flex items-center gap-2.5 px-4 pt-4 pb-3">
        <span className="grid size-7 place-items-center rounded-lg bg-accent text-accent-text">
          <ChartNoAxesColumn className="size-4" aria-hidden />
        </span>
        <span className="flex-1 text-base font-semibold">{t("appName")}</span>
        {isDrawer && <IconButton icon={X} label={t("closeMenu")} onClick={onLeave} isSmall />}
      </div>
      <nav aria-label={t("newChat")} className="px-2 pb-2">
        <NavLink to="/" icon={SquarePen} text={t("newChat")} onOpen={onLeave} />
      </nav>
      <ConversationList onOpen={onLeave} />
      <nav aria-label={t("pages")} className="border-t border-line p-2">
        <NavLink to="/data" icon={Database} text={t("data")} onOpen={onLeave} />
        <NavLink to="/mcp-servers" icon={Plug} text={t("mcpServers")} onOpen={onLeave} />
        {me?.role === "admin" && (
          <NavLink to="/admin" icon={ShieldCheck} text={t("admin")} onOpen={onLeave} />
        )}
      </nav>
      <div className="border-t border-line p-2">
        <UserMenu onLeave={onLeave} />
      </div>
    </>
  );
}

interface NavLinkProps {
  to: "/" | "/data" | "/mcp-servers" | "/admin";
  icon: LucideIcon;
  text: string;
  onOpen: () => void;
}

function NavLink({ to, icon: Icon, text, onOpen }: NavLinkProps) {
  return (
    <Link
      to={to}
      activeOptions={{ exact: to === "/" }}
      onClick={onOpen}
      className="flex items-center gap-2.5 rounded-lg px-2.5 py-2 text-sm hover:bg-line/60"
      activeProps={{ className: "bg-line/70 font-medium" }}
    >
      <Icon className="size-4 text-muted" aria-hidden />
      {text}
    </Link>
  );
}

const wide = window.matchMedia("(min-width: 48rem)");

function onChange(listener: () => void): () => void {
  wide.addEventListener("change", listener);
  return () => wide.removeEventListener("change", listener);
}

/** Whether there is room for the side bar beside the page. */
function useIsWide(): boolean {
  return useSyncExternalStore(onChange, () => wide.matches);
}
