/** What came of testing a server. */

import { CircleCheck, CircleX } from "lucide-react";
import { useTranslation } from "react-i18next";

import { classes } from "@/lib/classes";
import { formatDuration } from "@/lib/format";

import type { Trial } from "./queries";
import { detailOf } from "./status";

export function TrialResult({ trial }: { trial: Trial }) {
  const duration = formatDuration(trial.duration_ms / 1000);
  const Icon = trial.ok ? CircleCheck : CircleX;
  return (
    <div
      role={trial.ok ? "status" : "alert"}
      className={classes(
        "flex gap-2 rounded-lg px-3 py-2 text-sm",
        trial.ok ? "bg-good-soft" : "bg-danger-soft",
      )}
    >
      <Icon
        className={classes("mt-0.5 size-4 shrink-0", trial.ok ? "text-good" : "text-danger")}
        aria-hidden
      />
      <div className="min-w-0 [overflow-wrap:anywhere]">
        {trial.ok ? (
          <Success trial={trial} duration={duration} />
        ) : (
          <Failure trial={trial} duration={duration} />
        )}
      </div>
    </div>
  );
}

interface PartProps {
  trial: Trial;
  duration: string;
}

function Success({ trial, duration }: PartProps) {
  const { t } = useTranslation("mcp");
  const tools = t("toolCount", { count: trial.tools.length });
  const name = trial.server_info?.["name"];
  const version = trial.server_info?.["version"];
  const about = [
    typeof name === "string" ? `${name} ${typeof version === "string" ? version : ""}`.trim() : "",
    trial.protocol_version === null ? "" : t("protocol", { version: trial.protocol_version }),
  ];
  return (
    <>
      <p className="font-medium">{t("testOk", { tools, duration })}</p>
      <p className="text-xs text-muted">{about.filter(Boolean).join(" · ")}</p>
    </>
  );
}

function Failure({ trial, duration }: PartProps) {
  const { t } = useTranslation("mcp");
  const { state, reason } = detailOf(trial.status_detail);
  return (
    <>
      <p className="font-medium">{t("testFailed", { duration })}</p>
      <p>{reason || (state !== null && t(`states.${state}`))}</p>
      <p className="text-xs text-muted">{t("testHint")}</p>
    </>
  );
}
