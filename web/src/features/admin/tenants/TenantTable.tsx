/** Tenants in a list, and the dialog that was opened for one of them. */

import { Ellipsis, Pencil, Trash2, Users } from "lucide-react";
import { useState, type ComponentType } from "react";
import { useTranslation } from "react-i18next";

import { Badge } from "@/components/ui/Badge";
import { IconButton } from "@/components/ui/IconButton";
import { Menu, MenuItem, MenuSeparator } from "@/components/ui/Menu";
import { Table, type Column } from "@/components/ui/Table";
import { formatBytes, formatNumber } from "@/lib/format";

import { CopyIdItem } from "../parts/CopyIdItem";
import { DeleteTenantDialog } from "./DeleteTenantDialog";
import { offOf, type Tenant } from "./form";
import { MembersDialog } from "./MembersDialog";
import { TenantDialog } from "./TenantDialog";

export interface TenantDialogProps {
  tenant: Tenant;
  onClose: () => void;
}

type Action = "edit" | "members" | "delete";

const DIALOGS: Record<Action, ComponentType<TenantDialogProps>> = {
  edit: TenantDialog,
  members: MembersDialog,
  delete: DeleteTenantDialog,
};

export function TenantTable({ tenants }: { tenants: Tenant[] }) {
  const { t } = useTranslation("admin");
  const [opened, setOpened] = useState<{ tenant: Tenant; action: Action } | null>(null);
  const Opened = opened && DIALOGS[opened.action];
  const limit = (value: number | null) =>
    value === null ? t("tenants.unlimited") : formatNumber(value);
  const columns: Column<Tenant>[] = [
    {
      header: t("tenants.name"),
      cell: ({ name, tenant_id }) => (
        <>
          <div className="font-medium [overflow-wrap:anywhere]">{name}</div>
          <div className="font-mono text-xs text-muted [overflow-wrap:anywhere]">{tenant_id}</div>
        </>
      ),
    },
    { header: t("tenants.limits.max_users"), isMinor: true, cell: (it) => limit(it.max_users) },
    {
      header: t("tenants.quotaShort"),
      isMinor: true,
      cell: ({ workspace_quota: quota }) =>
        quota === null ? t("tenants.usual") : formatBytes(quota),
    },
    {
      header: t("tenants.switchedOff"),
      cell: ({ features_enabled }) => {
        const off = offOf(features_enabled);
        if (off.length === 0) return <span className="text-muted">{t("tenants.nothing")}</span>;
        return <Badge tone="warn">{t("tenants.offCount", { count: off.length })}</Badge>;
      },
    },
    {
      header: t("actions"),
      isRight: true,
      cell: (tenant) => (
        <TenantActions tenant={tenant} onChoose={(action) => setOpened({ tenant, action })} />
      ),
    },
  ];
  return (
    <>
      <Table
        label={t("sections.tenants")}
        columns={columns}
        rows={tenants}
        rowKey={(tenant) => tenant.tenant_id}
      />
      {opened && Opened && <Opened tenant={opened.tenant} onClose={() => setOpened(null)} />}
    </>
  );
}

interface TenantActionsProps {
  tenant: Tenant;
  onChoose: (action: Action) => void;
}

function TenantActions({ tenant, onChoose }: TenantActionsProps) {
  const { t } = useTranslation("admin");
  return (
    <Menu
      trigger={
        <IconButton icon={Ellipsis} label={t("actionsFor", { name: tenant.name })} isSmall />
      }
    >
      <MenuItem icon={Users} onSelect={() => onChoose("members")}>
        {t("tenants.members.open")}
      </MenuItem>
      <MenuItem icon={Pencil} onSelect={() => onChoose("edit")}>
        {t("tenants.edit")}
      </MenuItem>
      <CopyIdItem id={tenant.tenant_id} />
      <MenuSeparator />
      <MenuItem icon={Trash2} isDanger onSelect={() => onChoose("delete")}>
        {t("tenants.delete.open")}
      </MenuItem>
    </Menu>
  );
}
