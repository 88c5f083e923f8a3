/** What stands in the side bar: the way to each page, and the account. */

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
import { useTranslation } from "react-i18next";

import { useMe } from "@/api/queries";
import { IconButton } from "@/components/ui/Button";
import { ConversationList } from "@/features/conversations/ConversationList";

import { UserMenu } from "./UserMenu";

interface SideBarContentProps {
  /** A page was chosen. */
  onLeave: () => void;
  isDrawer?: boolean;
}

export function SideBarContent({ onLeave, isDrawer = false }: SideBarContentProps) {
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
