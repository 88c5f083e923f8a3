/** The registered servers. */

import { Ellipsis, FlaskConical, Pencil, Power, RefreshCw, Trash2 } from "lucide-react";
import { useTranslation } from "react-i18next";

import { Badge } from "@/components/ui/Badge";
import { Button } from "@/components/ui/Button";
import { Menu, MenuItem, MenuSeparator } from "@/components/ui/Menu";
import { Table, type Column } from "@/components/ui/Table";
import { StatusBadge } from "@/features/mcp/StatusBadge";
import { formatNumber } from "@/lib/format";

import { useWhose } from "./serverWords";
import type { SharedServer } from "./sharedForm";

export interface ServerTableActions {
  onDetails: (server: SharedServer) => void;
  onEdit: (server: SharedServer) => void;
  onTest: (server: SharedServer) => void;
  onRefresh: (server: SharedServer) => void;
  onToggle: (server: SharedServer) => void;
  onDelete: (server: SharedServer) => void;
}

interface ServerTableProps extends ServerTableActions {
  servers: SharedServer[];
}

export function ServerTable({ servers, ...on }: ServerTableProps) {
  const { t } = useTranslation("mcpAdmin");
  const whose = useWhose();
  const columns: Column<SharedServer>[] = [
    {
      header: t("registry.name"),
      cell: (server) => (
        <button
          type="button"
          className="rounded text-left font-medium [overflow-wrap:anywhere] text-accent hover:underline"
          aria-label={t("registry.detailsOf", { name: server.name })}
          onClick={() => on.onDetails(server)}
        >
          {server.name}
        </button>
      ),
    },
    { header: t("registry.whose"), cell: whose, isMinor: true },
    { header: t("registry.status"), cell: (server) => <StatusBadge server={server} /> },
    {
      header: t("registry.tools"),
      cell: (server) => <ToolCount server={server} />,
      isMinor: true,
    },
    {
      header: t("registry.actions"),
      isRight: true,
      cell: (server) => <ServerMenu server={server} {...on} />,
    },
  ];
  return (
    <Table
      label={t("registry.servers")}
      columns={columns}
      rows={servers}
      rowKey={(server) => server.server_id}
    />
  );
}

function ToolCount({ server }: { server: SharedServer }) {
  const { t } = useTranslation("mcpAdmin");
  const waiting = server.tools.filter((tool) => tool.status === "quarantined").length;
  return (
    <span className="inline-flex flex-wrap items-center gap-2">
      {formatNumber(server.tools.length)}
      {waiting > 0 && <Badge tone="warn">{t("registry.toReview", { count: waiting })}</Badge>}
    </span>
  );
}

function ServerMenu({ server, ...on }: ServerTableActions & { server: SharedServer }) {
  const { t } = useTranslation("mcpAdmin");
  const { t: common } = useTranslation();
  return (
    <Menu
      trigger={
        <Button
          variant="ghost"
          size="smallIcon"
          aria-label={t("registry.moreFor", { name: server.name })}
        >
          <Ellipsis className="size-4" aria-hidden />
        </Button>
      }
    >
      <MenuItem icon={Pencil} onSelect={() => on.onEdit(server)}>
        {common("edit")}
      </MenuItem>
      <MenuItem icon={FlaskConical} isDisabled={server.disabled} onSelect={() => on.onTest(server)}>
        {t("registry.test")}
      </MenuItem>
      <MenuItem icon={RefreshCw} isDisabled={server.disabled} onSelect={() => on.onRefresh(server)}>
        {t("registry.refresh")}
      </MenuItem>
      <MenuItem icon={Power} onSelect={() => on.onToggle(server)}>
        {server.disabled ? t("registry.enable") : t("registry.disable")}
      </MenuItem>
      <MenuSeparator />
      <MenuItem icon={Trash2} isDanger onSelect={() => on.onDelete(server)}>
        {common("delete")}
      </MenuItem>
    </Menu>
  );
}
