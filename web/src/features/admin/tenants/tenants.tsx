/** Tenants: groups of users with limits, switches and data of their own. */

import { queryOptions, useQuery } from "@tanstack/react-query";
import { Building2, Pencil, Trash2, Users } from "lucide-react";
import { useTranslation } from "react-i18next";

import { api, call } from "@/api/client";
import { infoQuery } from "@/api/queries";
import { Badge } from "@/components/ui/Badge";
import { Banner } from "@/components/ui/Banner";
import { Checkbox } from "@/components/ui/Field";
import { EmptyState } from "@/components/ui/States";
import type { Column } from "@/components/ui/Table";
import { formatBytes, formatNumber } from "@/lib/format";

import { EditDialog, input, row } from "../kit/form";
import { confirmed, ResourceList, Section } from "../kit/list";
import { Loaded } from "../kit/load";
import { TENANTS, tenantsQuery } from "../queries";
import { MembersDialog } from "./members";
import {
  bodyOf,
  LIMITS,
  NEW_TENANT,
  offOf,
  switchesOf,
  tenantFormOf,
  turned,
  type Tenant,
} from "./tenantForm";

const pathOf = ({ tenant_id }: Tenant) => ({ params: { path: { tenant_id } } });

export function TenantsSection() {
  const { t } = useTranslation("admin");
  const tenants = useQuery(tenantsQuery);
  const isOff = useQuery(infoQuery).data?.multi_tenant === false;
  return (
    <Section
      title={t("sections.tenants")}
      text={t("tenants.text")}
      add={{
        label: t("tenants.add"),
        isDisabled: isOff,
        dialog: (close) => <TenantDialog tenant={null} onClose={close} />,
      }}
    >
      {isOff && (
        <Banner>
          {t("tenants.off")} <code>DATAAGENT_MULTI_TENANT=true</code>
        </Banner>
      )}
      <ResourceList
        label={t("sections.tenants")}
        query={tenants}
        columns={useColumns()}
        rowKey={(tenant) => tenant.tenant_id}
        menu={(tenant) => ({
          label: t("actionsFor", { name: tenant.name }),
          id: tenant.tenant_id,
          actions: [
            {
              label: t("tenants.members.open"),
              icon: Users,
              dialog: (close) => <MembersDialog tenant={tenant} onClose={close} />,
            },
            {
              label: t("tenants.edit"),
              icon: Pencil,
              dialog: (close) => <TenantDialog tenant={tenant} onClose={close} />,
            },
            confirmed({
              label: t("tenants.delete.open"),
              icon: Trash2,
              isDanger: true,
              title: t("tenants.delete.title", { name: tenant.name }),
              explanation: t("tenants.delete.text"),
              typed: tenant.name,
              run: () => call(api.DELETE("/api/v1/tenants/{tenant_id}", pathOf(tenant))),
              keys: [TENANTS, ["admin", "sources"]],
              done: t("tenants.delete.done", { name: tenant.name }),
            }),
          ],
        })}

        empty={
          <EmptyState icon={Building2} title={t("tenants.none")} text={t("tenants.noneText")} />
        }
      />
    </Section>
  );
}

function useColumns(): Column<Tenant>[] {
  const { t } = useTranslation("admin");
  return [
    {
      header: t("tenants.name"),
      cell: ({ name, tenant_id }) => (
        <>
          <div className="font-medium [overflow-wrap:anywhere]">{name}</div>
          <div className="font-mono text-xs text-muted [overflow-wrap:anywhere]">{tenant_id}</div>
        </>
      ),
    },
    {
      header: t("tenants.limits.max_users"),
      isMinor: true,
      cell: ({ max_users: limit }) =>
        limit === null ? t("tenants.unlimited") : formatNumber(limit),
    },
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
  ];
}

interface TenantDialogProps {
  /** Null: a new one. */
  tenant: Tenant | null;
  onClose: () => void;
}

function TenantDialog({ tenant, onClose }: TenantDialogProps) {
  const { t } = useTranslation("admin");
  const { t: common } = useTranslation();
  return (
    <EditDialog
      title={tenant === null ? t("tenants.add") : t("tenants.editTitle", { name: tenant.name })}
      save={tenant === null ? t("tenants.add") : common("save")}
      initial={() => (tenant === null ? NEW_TENANT : tenantFormOf(tenant))}
      fields={({ form, change }) => [
        input("name", t("tenants.name"), { required: true, maxLength: 200 }),
        tenant === null &&
          input("tenantId", t("tenants.id"), {
            hint: t("tenants.idHint"),
            pattern: "\\s*[A-Za-z0-9][A-Za-z0-9_.@\\-]{0,63}\\s*",
            spellCheck: false,
          }),
        row(
          [
            ...LIMITS.map((limit) =>
              input(limit, t(`tenants.limits.${limit}`), {
                type: "number",
                min: 0,
                max: 2147483647,
                step: 1,
                placeholder: t("tenants.unlimited"),
              }),
            ),
            input("quota", t("tenants.quota"), {
              type: "number",
              min: 0,
              step: "any",
              placeholder: t("tenants.usual"),
            }),
          ],
          { legend: t("tenants.limitsTitle"), hint: t("tenants.limitsHint") },
        ),
        <FeatureSwitches off={form.off} onChange={(off) => change({ off })} />,
      ]}
      run={(form) => {
        const body = bodyOf(form);
        if (tenant === null) {
          const tenant_id = form.tenantId.trim() || null;
          return call(api.POST("/api/v1/tenants", { body: { ...body, tenant_id } }));
        }
        return call(api.PUT("/api/v1/tenants/{tenant_id}", { ...pathOf(tenant), body }));
      }}
      keys={[TENANTS]}
      done={common("saved")}
      onClose={onClose}
    />
  );
}

/** The names of the tools and agents that can be switched off. */
const switchNamesQuery = queryOptions({
  queryKey: [...TENANTS, "switches"],
  queryFn: async () => {
    const [tools, agents] = await Promise.all([
      call(api.GET("/api/v1/tools")),
      call(api.GET("/api/v1/agents")),
    ]);
    return {
      tools: tools.items.map((tool) => tool.name),
      agents: agents.items.map((agent) => agent.name),
    };
  },
});

interface FeatureSwitchesProps {
  off: readonly string[];
  onChange: (off: string[]) => void;
}

/** What a tenant's users may use: MCP as a whole, each agent, each tool. */
function FeatureSwitches({ off, onChange }: FeatureSwitchesProps) {
  const { t } = useTranslation("admin");
  const names = useQuery(switchNamesQuery);
  const box = (feature: string, label: string) => (
    <Checkbox
      key={feature}
      label={<span className="[overflow-wrap:anywhere]">{label}</span>}
      checked={!off.includes(feature)}
      onChange={(event) => onChange(turned(off, feature, event.target.checked))}
    />
  );
  const group = (kind: "tool" | "agent", existing: string[]) => (
    <fieldset className="grid gap-x-3 gap-y-1.5 sm:grid-cols-2">
      <legend className="mb-1 text-xs text-muted">{t(`tenants.switches.${kind}`)}</legend>
      {switchesOf(kind, existing, off).map((each) => box(each, each.slice(kind.length + 1)))}
    </fieldset>
  );
  return (
    <fieldset className="grid gap-3">
      <legend className="mb-2 text-sm font-medium">{t("tenants.switches.title")}</legend>
      <p className="text-xs text-muted">{t("tenants.switches.hint")}</p>
      {box("mcp", t("tenants.switches.mcp"))}
      <Loaded query={names} lines={3}>
        {({ tools, agents }) => (
          <>
            {group("agent", agents)}
            {group("tool", tools)}
          </>
        )}
      </Loaded>
    </fieldset>
  );
}
