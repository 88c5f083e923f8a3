/** The servers that a user has, each with its state, its tools and its actions. */

import { useMutation } from "@tanstack/react-query";
import { ChevronDown, Ellipsis, KeyRound, Pencil, Play, Plug, Power, Trash2 } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";

import type { Schemas } from "@/api/client";
import { Badge } from "@/components/ui/Badge";
import { Button, IconButton } from "@/components/ui/Button";
import { Menu, MenuItem, MenuSeparator } from "@/components/ui/Menu";
import { EmptyState } from "@/components/ui/States";
import { toast } from "@/components/ui/toast";
import { classes } from "@/lib/classes";
import { useErrorText } from "@/lib/errorText";

import { formatCommandLine } from "./commandLine";
import { approveTool, refreshMcp, type UserServer } from "./queries";
import type { ServerActions } from "./ServerDialogs";
import { StatusBadge, StatusDetail, TrialPanel } from "./ServerState";
import { awaitsConfirmation } from "./status";
import type { TrialState } from "./useTrials";

interface ServerSectionsProps {
  servers: UserServer[];
  actions: ServerActions;
}

/** The user's own servers, then the shared ones. */
export function ServerSections({ servers, actions }: ServerSectionsProps) {
  const { t } = useTranslation("mcp");
  const own = servers.filter((server) => server.scope === "user");
  const shared = servers.filter((server) => server.scope !== "user");
  return (
    <>
      <section aria-labelledby="own-servers" className="grid gap-3">
        <h2 id="own-servers" className="text-base font-semibold">
          {t("own")}
        </h2>
        {own.length === 0 ? (
          <div className="rounded-xl border border-dashed border-line-strong">
            <EmptyState icon={Plug} title={t("none")} text={t("noneText")} />
          </div>
        ) : (
          <ServerCards servers={own} actions={actions} label={t("own")} />
        )}
      </section>
      <section aria-labelledby="shared-servers" className="grid gap-3">
        <div>
          <h2 id="shared-servers" className="text-base font-semibold">
            {t("shared")}
          </h2>
          <p className="text-sm text-muted">
            {shared.length === 0 ? t("noneShared") : t("sharedText")}
          </p>
        </div>
        {shared.length > 0 && (
          <ServerCards servers={shared} actions={actions} label={t("shared")} />
        )}
      </section>
    </>
  );
}

function ServerCards({ servers, actions, label }: ServerSectionsProps & { label: string }) {
  return (
    <ul className="grid gap-3" aria-label={label}>
      {servers.map((server) => (
        <ServerCard
          key={server.name}
          server={server}
          trial={actions.trials.of(server.name)}
          onTest={() => actions.test(server.name)}
          onEdit={() => actions.open({ dialog: "edit", server })}
          onDelete={() => actions.open({ dialog: "delete", server })}
          onToggle={() => actions.toggle(server)}
          onCredentials={() => actions.open({ dialog: "credentials", server })}
        />
      ))}
    </ul>
  );
}

interface ServerCardProps {
  server: UserServer;
  trial: TrialState | undefined;
  onTest: () => void;
  onEdit: () => void;
  onDelete: () => void;
  onToggle: () => void;
  onCredentials: () => void;
}

/** One server: how it is, what it is reached by, what can be done with it, its tools. */
function ServerCard({ server, trial, ...on }: ServerCardProps) {
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

type ServerTool = Schemas["ServerToolInfo"];

interface ToolListProps {
  tools: ServerTool[];
  label: string;
  /** Whether the reader may confirm what the tools say of themselves. */
  isOwn: boolean;
}

/** The tools of a server, each with what it does. What they say of themselves is only text. */
function ToolList({ tools, label, isOwn }: ToolListProps) {
  const { t } = useTranslation("mcp");
  if (tools.length === 0) return <p className="text-sm text-muted">{t("noTools")}</p>;
  return (
    <ul aria-label={label} className="grid gap-x-6 gap-y-2 sm:grid-cols-2">
      {tools.map((tool) => (
        <li key={tool.id} className="min-w-0 text-sm">
          <div className="flex flex-wrap items-center gap-2">
            <code className="font-mono text-[13px] [overflow-wrap:anywhere]">{tool.name}</code>
            <ToolState tool={tool} />
            {isOwn && awaitsConfirmation(tool) && <ConfirmReads tool={tool} />}
          </div>
          <p className="line-clamp-3 text-xs text-muted [overflow-wrap:anywhere]">
            {tool.description || t("noDescription")}
          </p>
        </li>
      ))}
    </ul>
  );
}

function ToolState({ tool }: { tool: ServerTool }) {
  const { t } = useTranslation("mcp");
  if (tool.status !== "active") return <Badge tone="warn">{t(`toolStatus.${tool.status}`)}</Badge>;
  return tool.enabled ? null : <Badge>{t("toolStatus.off")}</Badge>;
}

function ConfirmReads({ tool }: { tool: ServerTool }) {
  const { t } = useTranslation("mcp");
  const errorText = useErrorText();
  const approving = useMutation({
    mutationFn: () => approveTool(tool.id, tool.definition_hash),
    onError: (error) => toast(errorText(error), { tone: "danger" }),
    onSettled: refreshMcp,
  });
  return (
    <Button
      size="small"
      title={t("confirmReadsHint")}
      aria-label={t("confirmReadsOf", { name: tool.name })}
      isBusy={approving.isPending}
      onClick={() => approving.mutate()}
    >
      {t("confirmReads")}
    </Button>
  );
}
