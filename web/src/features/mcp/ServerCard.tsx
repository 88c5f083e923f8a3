/** One server: how it is, what it is reached by, what can be done with it, its tools. */

import { ChevronDown, Ellipsis, KeyRound, Pencil, Play, Power, Trash2 } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";

import { Badge } from "@/components/ui/Badge";
import { Button, IconButton } from "@/components/ui/Button";
import { Menu, MenuItem, MenuSeparator } from "@/components/ui/Menu";
import { classes } from "@/lib/classes";

import { formatCommandLine } from "./commandLine";
import type { UserServer } from "./queries";
import { StatusBadge } from "./StatusBadge";
import { StatusDetail } from "./StatusDetail";
import { ToolList } from "./ToolList";
import { TrialPanel } from "./TrialPanel";
import type { TrialState } from "./useTrials";

interface ServerCardProps {
  server: UserServer;
  trial: TrialState | undefined;
  onTest: () => void;
  onEdit: () => void;
  onDelete: () => void;
  onToggle: () => void;
  onCredentials: () => void;
}

export function ServerCard({ server, trial, ...on }: ServerCardProps) {
  const { t } = useTranslation("mcp");
  const { name } = server;
  const isOwn = server.scope === "user";
  return (
    <li className="grid gap-3 rounded-xl border border-line bg-raised p-4">
      <div className="flex flex-wrap items-start gap-x-3 gap-y-2">
        <div className="min-w-48 flex-1">
          <div className="flex flex-wrap items-center gap-2">
            <h3 className="font-medium [overflow-wrap:anywhere]">{name}</h3>
            <StatusBadge server={server} />
            {!isOwn && <Badge>{t(`scopes.${server.scope}`)}</Badge>}
            {server.has_credentials && <Badge tone="accent">{t("credentialsStored")}</Badge>}
          </div>
          <p className="mt-0.5 text-xs text-muted [overflow-wrap:anywhere]">
            {server.template !== null ? t("fromTemplate") : t(`transports.${server.transport}`)}
            {isOwn && reachedBy(server) !== "" && (
              <>
                {" · "}
                <code className="font-mono">{reachedBy(server)}</code>
              </>
            )}
          </p>
        </div>
        <div className="flex items-center gap-1">
          <Button
            size="small"
            aria-label={t("testServer", { name })}
            isBusy={trial?.isRunning ?? false}
            disabled={server.disabled}
            onClick={on.onTest}
          >
            {trial?.isRunning !== true && <Play className="size-3.5" aria-hidden />}
            {t("test")}
          </Button>
          {isOwn ? (
            <OwnMenu server={server} {...on} />
          ) : (
            <Button size="small" onClick={on.onCredentials}>
              <KeyRound className="size-3.5" aria-hidden />
              {t("credentials")}
            </Button>
          )}
        </div>
      </div>
      {(trial === undefined || trial.trial?.ok === true) && <StatusDetail server={server} />}
      <TrialPanel name={name} state={trial} />
      {(server.tools.length > 0 || server.status === "connected") && <Tools server={server} />}
    </li>
  );
}

function reachedBy(server: UserServer): string {
  if (server.url !== null) return server.url;
  if (server.command === null || server.template !== null) return "";
  return formatCommandLine({ command: server.command, args: server.args });
}

type OwnMenuProps = Pick<ServerCardProps, "server" | "onEdit" | "onDelete" | "onToggle">;

function OwnMenu({ server, onEdit, onDelete, onToggle }: OwnMenuProps) {
  const { t } = useTranslation("mcp");
  const { t: common } = useTranslation();
  return (
    <>
      <IconButton
        isSmall
        icon={Pencil}
        label={t("editServer", { name: server.name })}
        onClick={onEdit}
      />
      <Menu
        trigger={
          <Button variant="ghost" size="smallIcon" aria-label={t("moreFor", { name: server.name })}>
            <Ellipsis className="size-4" aria-hidden />
          </Button>
        }
      >
        <MenuItem icon={Power} onSelect={onToggle}>
          {server.disabled ? t("switchOn") : t("switchOff")}
        </MenuItem>
        <MenuSeparator />
        <MenuItem icon={Trash2} isDanger onSelect={onDelete}>
          {common("delete")}
        </MenuItem>
      </Menu>
    </>
  );
}

function Tools({ server }: { server: UserServer }) {
  const { t } = useTranslation("mcp");
  const [isOpen, setIsOpen] = useState(false);
  const count = t("toolCount", { count: server.tools.length });
  return (
    <div className="grid gap-3 border-t border-line pt-2">
      <button
        type="button"
        aria-expanded={isOpen}
        aria-label={`${count}: ${server.name}`}
        onClick={() => setIsOpen(!isOpen)}
        className="flex w-fit items-center gap-1 rounded text-sm text-muted hover:text-text"
      >
        <ChevronDown
          className={classes("size-4 transition-transform", !isOpen && "-rotate-90")}
          aria-hidden
        />
        {count}
      </button>
      {isOpen && (
        <ToolList
          tools={server.tools}
          label={t("toolsOf", { name: server.name })}
          isOwn={server.scope === "user"}
        />
      )}
    </div>
  );
}
