/** Whose, which and when: what of the audit log is shown. */

import { useId } from "react";
import { useTranslation } from "react-i18next";

import { Field } from "@/components/ui/Field";
import { Input, Select } from "@/components/ui/Input";

import { UserSelect } from "../parts/UserSelect";
import type { AuditRow } from "./AuditSection";
import { OUTCOMES, type AuditFilter } from "./filter";

interface AuditFiltersProps {
  filter: AuditFilter;
  onChange: (filter: AuditFilter) => void;
  /** Rows on the page, whose actions are offered. */
  seen: AuditRow[];
}

const USUAL_ACTIONS = ["login", "logout", "tool.call", "sql.query", "mcp.call", "approval.decide"];

export function AuditFilters({ filter, onChange, seen }: AuditFiltersProps) {
  const { t } = useTranslation("admin");
  const listId = useId();
  const actions = [...new Set([...USUAL_ACTIONS, ...seen.map((row) => row.action)])].sort();
  const text = (field: "action" | "runId" | "from" | "to", type: string, list?: string) => (
    <Field label={t(`audit.filters.${field}`)}>
      {(control) => (
        <Input
          {...control}
          type={type}
          className="min-w-0"
          list={list}
          value={filter[field]}
          spellCheck={false}
          onChange={(event) => onChange({ ...filter, [field]: event.target.value })}
        />
      )}
    </Field>
  );
  return (
    <div
      role="search"
      aria-label={t("audit.filters.label")}
      className="grid grid-cols-2 gap-3 xl:grid-cols-3"
    >
      <Field label={t("audit.who")}>
        {(control) => (
          <UserSelect
            control={control}
            value={filter.userId}
            empty={t("audit.filters.anyone")}
            onChange={(userId) => onChange({ ...filter, userId })}
          />
        )}
      </Field>
      <Field label={t("audit.outcome")}>
        {(control) => (
          <Select
            {...control}
            value={filter.outcome}
            onChange={(event) => onChange({ ...filter, outcome: event.target.value })}
          >
            <option value="">{t("audit.filters.any")}</option>
            {OUTCOMES.map((outcome) => (
              <option key={outcome} value={outcome}>
                {t(`audit.outcomes.${outcome}`)}
              </option>
            ))}
          </Select>
        )}
      </Field>
      {text("action", "text", listId)}
      {text("runId", "text")}
      <div className="col-span-2 sm:col-span-1">{text("from", "datetime-local")}</div>
      <div className="col-span-2 sm:col-span-1">{text("to", "datetime-local")}</div>
      <datalist id={listId}>
        {actions.map((action) => (
          <option key={action} value={action} />
        ))}
      </datalist>
    </div>
  );
}
