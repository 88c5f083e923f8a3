/** Why a server is as it is: our words for the state, the server's for the reason. */

import { useTranslation } from "react-i18next";

import { classes } from "@/lib/classes";

import { detailOf, type ServerStatus } from "./status";

export function StatusDetail({ server }: { server: ServerStatus }) {
  const { t } = useTranslation("mcp");
  const { state, reason } = detailOf(server.status_detail);
  if (state === "ready" || state === "disabled") return null; // the badge says it
  const isFailing = server.status === "error" && !server.disabled;
  return (
    <p
      className={classes(
        "text-sm [overflow-wrap:anywhere]",
        isFailing ? "text-danger" : "text-muted",
      )}
    >
      {state !== null && t(`states.${state}`)}
      {reason !== "" && ` ${reason}`}
    </p>
  );
}
