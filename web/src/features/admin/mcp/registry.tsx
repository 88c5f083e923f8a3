/** The registry of MCP servers: servers, changed tools to review, templates. */

import { useQuery } from "@tanstack/react-query";
import { FlaskConical, Pencil, Power, RefreshCw, Server, ShieldCheck, Trash2 } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";

import { api, call } from "@/api/client";
import { Badge } from "@/components/ui/Badge";
import { Checkbox } from "@/components/ui/Field";
import { EmptyState } from "@/components/ui/States";
import type { Column } from "@/components/ui/Table";
import { Tabs } from "@/components/ui/Tabs";
import { toast } from "@/components/ui/toast";
import { StatusBadge } from "@/features/mcp/ServerState";
import { useTrials, type Trials } from "@/features/mcp/useTrials";
import { useErrorText } from "@/lib/errorText";
import { formatNumber } from "@/lib/format";

import { useChange } from "../kit/change";
import {
  AddButton,
  confirmed,
  ResourceList,
  ResourceTable,
  Section,
  type RowAction,
} from "../kit/list";
import { Loaded } from "../kit/load";
import { registryQuery } from "../queries";
import { DiffDialog } from "./diff";
import { MCP_KEYS, mcpToolsQuery, type McpTool } from "./queries";
import { ServerDetails, useWhose } from "./serverDetails";
import { SharedServerDialog } from "./serverDialog";
import type { SharedServer } from "./sharedForm";
import { TemplatesTab } from "./templates";

const pathOf = (id: string) => ({ params: { path: { server_id: id } } });

export function McpRegistrySection() {
  const { t } = useTranslation("mcpAdmin");
  const waiting = useQuery(mcpToolsQuery({ status: "quarantined" }));
  const trials = useTrials(); // here, so that results outlast a change of tabs
  const count = waiting.data?.total ?? 0;
  return (
    <Section title={t("registry.title")} text={t("registry.text")}>
      <Tabs
        label={t("registry.tabs")}
        tabs={[
          {
            value: "servers",
            label: t("registry.servers"),
            content: <ServersTab trials={trials} />,
          },
          {
            value: "review",
            label: (
              <span className="inline-flex items-center gap-2">
                {t("registry.review")}
                {count > 0 && <Badge tone="warn">{count}</Badge>}
              </span>
            ),
            content: <ReviewTab />,
          },
          { value: "templates", label: t("registry.templates"), content: <TemplatesTab /> },
        ]}
      />
    </Section>
  );
}

/** The registered servers, with users' own on demand. */
function ServersTab({ trials }: { trials: Trials }) {
  const { t } = useTranslation("mcpAdmin");
  const servers = useQuery(registryQuery);
  const [isOwnShown, setIsOwnShown] = useState(false);
  const [detailed, setDetailed] = useState<SharedServer | null>(null);
  const test = (server: SharedServer) => {
    setDetailed(server);
    trials.run(server.server_id, () =>
      call(api.POST("/api/v1/mcp/servers/{server_id}/test", pathOf(server.server_id))),
    );
  };
  const refresh = (server: SharedServer) => {
    setDetailed(server);
    trials.run(server.server_id, () =>
      call(api.POST("/api/v1/mcp/servers/{server_id}/refresh", pathOf(server.server_id))),
    );
  };
  const editDialog = (server: SharedServer | null) => (close: () => void) => (
    <SharedServerDialog
      server={server}
      onClose={close}
      onSaved={(saved) => {
        close();
        if (!saved.disabled) test(saved);
      }}
    />
  );
  const columns = useColumns(setDetailed);
  const menuOf = useServerMenu({ trials, test, refresh, editDialog });
  return (
    <Loaded query={servers}>
      {({ items }) => {
        const shown = items.filter((server) => isOwnShown || server.scope !== "user");
        const id = detailed?.server_id;
        const server = items.find((each) => each.server_id === id) ?? detailed;
        return (
          <div className="grid gap-3">
            <div className="flex flex-wrap items-center gap-3">
              <Checkbox
                label={t("registry.showOwn")}
                checked={isOwnShown}
                onChange={(event) => setIsOwnShown(event.target.checked)}
                className="flex-1"
              />
              <AddButton label={t("registry.add")} dialog={editDialog(null)} />
            </div>
            {shown.length === 0 ? (
              <EmptyState icon={Server} title={t("registry.none")} text={t("registry.noneText")} />
            ) : (
              <ResourceTable
                label={t("registry.servers")}
                columns={columns}
                rows={shown}
                rowKey={(each) => each.server_id}
                menu={(each) => ({
                  label: t("registry.moreFor", { name: each.name }),
                  actions: menuOf(each),
                })}
              />
            )}
            {server && (
              <ServerDetails
                server={server}
                trial={trials.of(server.server_id)}
                onTest={() => test(server)}
                onRefresh={() => refresh(server)}
                onClose={() => setDetailed(null)}
              />
            )}
          </div>
        );
      }}
    </Loaded>
  );
}

function useColumns(onOpen: (server: SharedServer) => void): Column<SharedServer>[] {
  const { t } = useTranslation("mcpAdmin");
  const whose = useWhose();
  return [
    {
      header: t("registry.name"),
      cell: (server) => (
        <button
          type="button"
          className="rounded text-left font-medium [overflow-wrap:anywhere] text-accent hover:underline"
          aria-label={t("registry.detailsOf", { name: server.name })}
          onClick={() => onOpen(server)}
        >
          {server.name}
        </button>
      ),
    },
    { header: t("registry.whose"), cell: whose, isMinor: true },
    { header: t("registry.status"), cell: (server) => <StatusBadge server={server} /> },
    {
      header: t("registry.tools"),
      isMinor: true,
      cell: ({ tools }) => {
        const waiting = tools.filter((tool) => tool.status === "quarantined").length;
        return (
          <span className="inline-flex flex-wrap items-center gap-2">
            {formatNumber(tools.length)}
            {waiting > 0 && <Badge tone="warn">{t("registry.toReview", { count: waiting })}</Badge>}
          </span>
        );
      },
    },
  ];
}

interface ServerMenuOptions {
  trials: Trials;
  test: (server: SharedServer) => void;
  refresh: (server: SharedServer) => void;
  editDialog: (server: SharedServer) => NonNullable<RowAction["dialog"]>;
}

function useServerMenu(options: ServerMenuOptions): (server: SharedServer) => RowAction[] {
  const { t } = useTranslation("mcpAdmin");
  const { t: common } = useTranslation();
  const errorText = useErrorText();
  const toggle = useChange(
    ({ server_id: id, disabled }: SharedServer) =>
      disabled
        ? call(api.POST("/api/v1/mcp/servers/{server_id}/enable", pathOf(id)))
        : call(api.POST("/api/v1/mcp/servers/{server_id}/disable", pathOf(id))),
    {
      keys: MCP_KEYS,
      onDone: ({ server_id: id, name, disabled }) => {
        options.trials.forget(id);
        toast(disabled ? t("registry.switchedOff", { name }) : t("registry.switchedOn", { name }));
      },
    },
  );
  const onError = (error: Error) => toast(errorText(error), { tone: "danger" });
  return (server) => {
    const { name, disabled } = server;
    return [
      { label: common("edit"), icon: Pencil, dialog: options.editDialog(server) },
      {
        label: t("registry.test"),
        icon: FlaskConical,
        isDisabled: disabled,
        run: () => options.test(server),
      },
      {
        label: t("registry.refresh"),
        icon: RefreshCw,
        isDisabled: disabled,
        run: () => options.refresh(server),
      },
      {
        label: disabled ? t("registry.enable") : t("registry.disable"),
        icon: Power,
        run: () => toggle.mutate(server, { onError }),
      },
      confirmed({
        label: common("delete"),
        icon: Trash2,
        isDanger: true,
        title: t("registry.deleteTitle", { name }),
        explanation: t("registry.deleteText"),
        run: () => call(api.DELETE("/api/v1/mcp/servers/{server_id}", pathOf(server.server_id))),
        keys: MCP_KEYS,
        done: t("registry.deleted", { name }),
      }),
    ];
  };
}

/** Tools whose definition changed and that wait for a review. */
function ReviewTab() {
  const { t } = useTranslation("mcpAdmin");
  const tools = useQuery(mcpToolsQuery({ status: "quarantined" }));
  const servers = useQuery(registryQuery).data?.items;
  const names = new Map(servers?.map((each) => [each.server_id, each.name]));
  const columns: Column<McpTool>[] = [
    { header: t("tools.name"), cell: (tool) => <code>{tool.name}</code> },
    { header: t("review.server"), cell: (tool) => names.get(tool.server_id) ?? tool.server_id },
  ];
  return (
    <ResourceList
      label={t("registry.review")}
      query={tools}
      text={<p className="mb-3 max-w-2xl text-sm text-muted">{t("review.text")}</p>}
      columns={columns}
      rowKey={(tool) => tool.id}
      buttons={(tool) => [
        {
          label: t("tools.reviewTool", { name: tool.name }),
          text: t("tools.review"),
          dialog: (close) => <DiffDialog tool={tool} onClose={close} />,
        },
      ]}

      empty={<EmptyState icon={ShieldCheck} title={t("review.none")} text={t("review.noneText")} />}
    />
  );
}
