/** The state of a server, and the result of a test of it. */

import { CircleCheck, CircleX, LoaderCircle } from "lucide-react";
import { useTranslation } from "react-i18next";

import { Badge } from "@/components/ui/Badge";
import { classes } from "@/lib/classes";
import { formatDuration } from "@/lib/format";

import type { Trial } from "./queries";
import { Refusal } from "./Refusal";
import { detailOf, TONES, type ServerStatus } from "./status";
import type { TrialState } from "./useTrials";

/** How a server is, in one word. */
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

/** Why a server is as it is: our words for the state, the server's for the reason. */
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

/** A test that runs, its result, or why it could not be made. */
export function TrialPanel({ name, state }: { name: string; state: TrialState | undefined }) {
  const { t } = useTranslation("mcp");
  if (!state) return null;
  if (state.isRunning)
    return (
      <p role="status" className="flex items-center gap-2 text-sm text-muted">
        <LoaderCircle className="size-4 animate-spin" aria-hidden />
        {t("testing", { name })}
      </p>
    );
  return state.trial ? <TrialResult trial={state.trial} /> : <Refusal error={state.error} />;
}

/** What came of testing a server. */
function TrialResult({ trial }: { trial: Trial }) {
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
