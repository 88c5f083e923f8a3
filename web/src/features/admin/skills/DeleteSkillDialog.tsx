/** Ask before a skill of one's own is deleted. */

import { useTranslation } from "react-i18next";

import { AskDialog } from "../parts/AskDialog";
import { useChange } from "../parts/change";
import { SKILL_KEYS, skillStore } from "./queries";

export function DeleteSkillDialog({ name, onClose }: { name: string; onClose: () => void }) {
  const { t } = useTranslation("mcpAdmin");
  const { t: common } = useTranslation();
  const remove = useChange(() => skillStore.remove(name), {
    keys: SKILL_KEYS,
    done: t("skills.deleted", { name }),
    onDone: onClose,
  });
  return (
    <AskDialog
      isDanger
      title={t("skills.deleteTitle", { name })}
      text={t("skills.deleteText")}
      confirm={common("delete")}
      isBusy={remove.isPending}
      error={remove.error}
      onConfirm={() => remove.mutate(undefined)}
      onClose={onClose}
    />
  );
}
