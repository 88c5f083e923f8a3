/** A line of a menu that copies an id, for policies and the API. */

import { Copy } from "lucide-react";
import { useTranslation } from "react-i18next";

import { copyText } from "@/components/ui/CopyButton";
import { MenuItem } from "@/components/ui/Menu";
import { toast } from "@/components/ui/toast";

export function CopyIdItem({ id }: { id: string }) {
  const { t } = useTranslation();
  const { t: admin } = useTranslation("admin");
  const copy = async () => {
    await copyText(id);
    toast(t("copied"));
  };
  return (
    <MenuItem icon={Copy} onSelect={() => void copy()}>
      {admin("copyId")}
    </MenuItem>
  );
}
