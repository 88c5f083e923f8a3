/** When no language model is set up: what that means, and what to do about it. */

import { useQuery } from "@tanstack/react-query";
import { X } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";

import { useMe } from "@/api/me";
import { infoQuery } from "@/api/queries";
import { Banner } from "@/components/ui/Banner";
import { IconButton } from "@/components/ui/IconButton";
import { readStored, writeStored } from "@/lib/store";

const KEY = "dataagent.modelNote";
const HIDDEN = "hidden";

export function ModelNote() {
  const { t } = useTranslation("chat");
  const me = useMe();
  const info = useQuery(infoQuery).data;
  const [isHidden, setIsHidden] = useState(() => readStored(KEY) === HIDDEN);
  if (info?.is_offline !== true || isHidden || me === undefined) return null;
  const hide = () => {
    writeStored(KEY, HIDDEN);
    setIsHidden(true);
  };
  return (
    <div className="mx-auto w-full max-w-3xl px-4 pt-3">
      <Banner
        kind="warn"
        action={<IconButton icon={X} label={t("model.dismiss")} isSmall onClick={hide} />}
      >
        <strong className="font-medium">{t("model.title")}</strong>{" "}
        {t(me.role === "admin" ? "model.admin" : "model.user")}
      </Banner>
    </div>
  );
}
