/** What row rules may ask about a user, such as a region. */

import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";

import { Dialog } from "@/components/ui/Dialog";

import { Loaded } from "../parts/Loaded";
import { AttributesForm } from "./AttributesForm";
import { attributesQuery } from "./queries";
import type { UserDialogProps } from "./UserTable";

export function AttributesDialog({ user, onClose }: UserDialogProps) {
  const { t } = useTranslation("admin");
  const attributes = useQuery({ ...attributesQuery(user.id), refetchOnWindowFocus: false });
  return (
    <Dialog
      isOpen
      isSticky
      onClose={onClose}
      title={t("users.attributes.title", { name: user.username })}
      description={t("users.attributes.text")}
    >
      <Loaded query={attributes} lines={3}>
        {(loaded) => (
          <AttributesForm user={user} attributes={loaded.attributes} onClose={onClose} />
        )}
      </Loaded>
    </Dialog>
  );
}
