/** A line of a menu that copies an id, for policies and the API. */

import { Copy } from "lucide-react";
import { useTranslation } from "react-i18next";

import { MenuItem } from "@/components/ui/Menu";
import { toast } from "@/components/ui/toast";
import { useCopy } from "@/components/ui/useCopy";

export function CopyIdItem({ id }: { id: string }) {
  const { t } = useTranslation();
  const { t: admin } = useTranslation("admin");
  const copy = useCopy();
  return (
    <MenuItem icon={Copy} onSelect={() => copy(id, () => toast(t("copied")))}>
      {admin("copyId")}
    </MenuItem>
  );
}
