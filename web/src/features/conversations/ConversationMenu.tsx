/** What can be done with a conversation. */

import { Ellipsis, Pencil, Trash2 } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";

import { Menu, MenuItem } from "@/components/ui/Menu";
import { classes } from "@/lib/classes";

import type { ConversationInfo } from "./groups";
import { RenameDialog } from "./RenameDialog";
import { useDeletion } from "./useDeletion";

interface ConversationMenuProps {
  conversation: ConversationInfo;
  className?: string;
  /** It is being deleted: a drawer closes, so that the way back can be seen and reached. */
  onDelete?: () => void;
}

export function ConversationMenu({ conversation, className, onDelete }: ConversationMenuProps) {
  const { t } = useTranslation("chat");
  const { t: common } = useTranslation();
  const [isRenaming, setIsRenaming] = useState(false);
  const remove = useDeletion();
  return (
    <>
      <Menu
        trigger={
          <button
            type="button"
            aria-label={t("list.menu", { title: conversation.title })}
            className={classes(
              "grid size-7 shrink-0 place-items-center rounded-md text-muted hover:bg-line hover:text-text",
              className,
            )}
          >
            <Ellipsis className="size-4" aria-hidden />
          </button>
        }
      >
        <MenuItem icon={Pencil} onSelect={() => setIsRenaming(true)}>
          {t("list.rename")}
        </MenuItem>
        <MenuItem
          icon={Trash2}
          isDanger
          onSelect={() => {
            remove(conversation);
            onDelete?.();
          }}
        >
          {common("delete")}
        </MenuItem>
      </Menu>
      {isRenaming && (
        <RenameDialog conversation={conversation} onClose={() => setIsRenaming(false)} />
      )}
    </>
  );
}
