/** The filters of the call log: the usual ones, the rest on demand. */

import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";

import { Button } from "@/components/ui/Button";
import { Field } from "@/components/ui/Field";
import { Input, Select } from "@/components/ui/Input";

import { allAgentsQuery } from "../agents/queries";
import { UserSelect } from "../parts/UserSelect";
import { CALL_STATUSES, hasFilters, NO_FILTERS, type CallFilters } from "./callFilters";
import { FilterText } from "./FilterText";
import { registryQuery } from "./queries";

interface CallFiltersFormProps {
  filters: CallFilters;
  onChange: (changes: Partial<CallFilters>) => void;
}

const GRID = "grid gap-3 sm:grid-cols-2 lg:grid-cols-4";

export function CallFiltersForm({ filters, onChange }: CallFiltersFormProps) {
  const { t } = useTranslation("mcpAdmin");
  const servers = useQuery(registryQuery).data?.items ?? [];
  const agents = useQuery(allAgentsQuery).data?.items ?? [];
  const statuses = CALL_STATUSES.map((id) => ({ id, name: t(`calls.statuses.${id}`) }));
  return (
    <form
      aria-label={t("calls.filters")}
      onSubmit={(event) => event.preventDefault()}
      className="grid gap-3 rounded-xl border border-line bg-raised p-4"
    >
      <div className={GRID}>
        <Choice
          label={t("calls.status")}
          value={filters.status}
          choices={statuses}
          onChange={(chosen) =>
            onChange({ status: CALL_STATUSES.find((each) => each === chosen) ?? "" })
          }
        />
        <Choice
          label={t("calls.server")}
          value={filters.serverId}
          choices={servers.map((each) => ({ id: each.server_id, name: each.name }))}
          onChange={(serverId) => onChange({ serverId })}
        />
        <Choice
          label={t("calls.agent")}
          value={filters.agentId}
          choices={agents.map((each) => ({ id: each.id, name: each.name }))}
          onChange={(agentId) => onChange({ agentId })}
        />
        <Field label={t("calls.user")}>
          {(control) => (
            <UserSelect
              control={control}
              value={filters.userId}
              empty={t("calls.any")}
              onChange={(userId) => onChange({ userId })}
            />
          )}
        </Field>
      </div>
      <details>
        <summary className="text-sm text-muted">{t("calls.moreFilters")}</summary>
        <div className={`${GRID} pt-3`}>
          {(["from", "to"] as const).map((name) => (
            <Field key={name} label={t(`calls.${name}`)}>
              {(control) => (
                <Input
                  {...control}
                  type="datetime-local"
                  value={filters[name]}
                  onChange={(event) => onChange({ [name]: event.target.value })}
                />
              )}
            </Field>
          ))}
          <FilterText
            label={t("calls.tool")}
            value={filters.toolName}
            onChange={(toolName) => onChange({ toolName })}
          />
          <FilterText
            label={t("calls.session")}
            value={filters.sessionId}
            onChange={(sessionId) => onChange({ sessionId })}
          />
          <FilterText
            label={t("calls.trace")}
            value={filters.traceId}
            onChange={(traceId) => onChange({ traceId })}
          />
          <FilterText
            label={t("calls.tenant")}
            value={filters.tenantId}
            onChange={(tenantId) => onChange({ tenantId })}
          />
        </div>
      </details>
      {hasFilters(filters) && (
        <div>
          <Button size="small" onClick={() => onChange(NO_FILTERS)}>
            {t("calls.clear")}
          </Button>
        </div>
      )}
    </form>
  );
}

interface ChoiceProps {
  label: string;
  value: string;
  choices: { id: string; name: string }[];
  onChange: (id: string) => void;
}

function Choice({ label, value, choices, onChange }: ChoiceProps) {
  const { t } = useTranslation("mcpAdmin");
  return (
    <Field label={label}>
      {(control) => (
        <Select {...control} value={value} onChange={(event) => onChange(event.target.value)}>
          <option value="">{t("calls.any")}</option>
          {choices.map(({ id, name }) => (
            <option key={id} value={id}>
              {name}
            </option>
          ))}
        </Select>
      )}
    </Field>
  );
}
