/** How a server is, in one word. */

import { LoaderCircle } from "lucide-react";
import { useTranslation } from "react-i18next";

import { Badge } from "@/components/ui/Badge";

import { detailOf, TONES, type ServerStatus } from "./status";

export function StatusBadge({ server }: { server: ServerStatus }) {
  const { t } = useTranslation("mcp");
  if (server.disabled) return <Badge>{t("off")}</Badge>;
  const isConnecting = detailOf(server.status_detail).state === "connecting";
  return (
    <Badge tone={isConnecting ? "accent" : TONES[server.status]}>
      {isConnecting && <LoaderCircle className="size-3 animate-spin" aria-hidden />}
      {isConnecting ? t("states.connecting") : t(`status.${server.status}`)}
    </Badge>
  );
}
