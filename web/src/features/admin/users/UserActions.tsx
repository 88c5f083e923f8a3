/** What can be done with an account. Not to one's own: nobody locks themselves out. */

import {
  Ellipsis,
  KeyRound,
  LockKeyhole,
  ShieldCheck,
  Tags,
  Trash2,
  UserRoundCheck,
  UserRoundMinus,
  type LucideIcon,
} from "lucide-react";
import { useTranslation } from "react-i18next";

import { CopyIdItem } from "../parts/CopyIdItem";
import { IconButton } from "@/components/ui/IconButton";
import { Menu, MenuItem, MenuLabel, MenuSeparator } from "@/components/ui/Menu";

import type { User } from "../parts/people";

export type UserAction = "role" | "status" | "password" | "keys" | "attributes" | "delete";

interface UserActionsProps {
  user: User;
  isMe: boolean;
  onChoose: (action: UserAction) => void;
}

interface Item {
  action: UserAction;
  icon: LucideIcon;
  text: string;
  isForOthers: boolean;
}

export function UserActions({ user, isMe, onChoose }: UserActionsProps) {
  const { t } = useTranslation("admin");
  const isActive = user.status === "active";
  const items: Item[] = [
    { action: "keys", icon: KeyRound, text: t("users.keys.open"), isForOthers: false },
    { action: "attributes", icon: Tags, text: t("users.attributes.open"), isForOthers: false },
    { action: "password", icon: LockKeyhole, text: t("users.password.open"), isForOthers: true },
    {
      action: "role",
      icon: ShieldCheck,
      text: t(user.role === "admin" ? "users.makeUser" : "users.makeAdmin"),
      isForOthers: true,
    },
    {
      action: "status",
      icon: isActive ? UserRoundMinus : UserRoundCheck,
      text: t(isActive ? "users.disable" : "users.enable"),
      isForOthers: true,
    },
  ];
  return (
    <Menu
      trigger={
        <IconButton icon={Ellipsis} label={t("actionsFor", { name: user.username })} isSmall />
      }
    >
      {isMe && (
        <MenuLabel>
          <span className="block max-w-56">{t("users.ownAccount")}</span>
        </MenuLabel>
      )}
      {items.map(({ action, icon, text, isForOthers }) => (
        <MenuItem
          key={action}
          icon={icon}
          isDisabled={isMe && isForOthers}
          onSelect={() => onChoose(action)}
        >
          {text}
        </MenuItem>
      ))}
      <CopyIdItem id={user.id} />
      <MenuSeparator />
      <MenuItem icon={Trash2} isDanger isDisabled={isMe} onSelect={() => onChoose("delete")}>
        {t("users.delete.open")}
      </MenuItem>
    </Menu>
  );
}
