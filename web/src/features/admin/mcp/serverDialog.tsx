/** The form of a shared server. */

import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";

import { api, call } from "@/api/client";
import { Checkbox } from "@/components/ui/Field";
import { Refusal } from "@/features/mcp/Refusal";
import { ConnectionFields, NameField, TimeFields, WayChoice } from "@/features/mcp/ServerFields";

import { choice, EditDialog, Fields, input, PLAIN, row } from "../kit/form";
import { tenantsQuery } from "../queries";
import { MCP_KEYS } from "./queries";
import {
  createSharedBody,
  emptySharedForm,
  sharedFormOf,
  sharedProblemsOf,
  updateSharedBody,
  type SharedForm,
  type SharedProblems,
  type SharedServer,
} from "./sharedForm";

const SCOPES = ["global", "tenant"] as const;
const SESSION_SCOPES = ["shared", "user", "session"] as const;
const ON_CHANGES = ["quarantine", "accept"] as const;

interface SharedServerDialogProps {
  /** Null: a new one. */
  server: SharedServer | null;
  onClose: () => void;
  onSaved: (server: SharedServer) => void;
}

export function SharedServerDialog({ server, onClose, onSaved }: SharedServerDialogProps) {
  const { t } = useTranslation("mcpAdmin");
  const { t: common } = useTranslation();
  const tenants = useQuery(tenantsQuery).data?.items ?? [];
  const isNew = server === null;
  return (
    <EditDialog<SharedForm, SharedServer, SharedProblems>
      title={isNew ? t("server.addTitle") : t("server.editTitle", { name: server.name })}
      save={isNew ? t("server.save") : common("save")}
      initial={() => (isNew ? emptySharedForm() : sharedFormOf(server))}
      check={(form) => sharedProblemsOf(form, server)}
      fields={({ form, change, problems }) => [
        isNew && (
          <NameField
            name={form.name}
            problem={problems.name}
            onChange={(name) => change({ name })}
          />
        ),
        isNew && (
          <WayChoice
            legend={t("server.scope")}
            choices={SCOPES.map((value) => ({ value, label: t(`server.scopes.${value}`) }))}
            value={form.scope}
            onChange={(scope) => change({ scope })}
          />
        ),
        isNew &&
          form.scope === "tenant" &&
          choice(
            "tenantId",
            t("server.tenant"),
            tenants.map((each) => ({ value: each.tenant_id, label: each.name })),
            {
              hint: tenants.length === 0 ? t("server.noTenants") : undefined,
              error: problems.tenantId && t(`server.problems.${problems.tenantId}`),
              empty: t("server.chooseTenant"),
            },
          ),
        <ConnectionFields
          ways={["url", "command"]}
          form={form}
          problems={problems}
          onChange={change}
          templates={[]}
          known={server}
        />,
        <MoreFields form={form} problems={problems} change={change} />,
      ]}
      run={(form) => {
        if (isNew) return call(api.POST("/api/v1/mcp/servers", { body: createSharedBody(form) }));
        const params = { path: { server_id: server.server_id } };
        const body = updateSharedBody(form, server);
        return call(api.PUT("/api/v1/mcp/servers/{server_id}", { params, body }));
      }}
      keys={MCP_KEYS}
      onDone={onSaved}
      problem={Refusal}
      onClose={onClose}
    />
  );
}

interface MoreFieldsProps {
  form: SharedForm;
  problems: SharedProblems;
  change: (changes: Partial<SharedForm>) => void;
}

/** The settings that mostly stay as they are. */
function MoreFields({ form, problems, change }: MoreFieldsProps) {
  const { t } = useTranslation("mcpAdmin");
  const { t: mcp } = useTranslation("mcp");
  const { alias, maxConcurrency, timeout, callTimeout } = problems;
  const isWrong = [alias, maxConcurrency, timeout, callTimeout].some((each) => each !== undefined);
  const place = form.way === "command" ? "cwd" : "proxyUrl";
  return (
    <details open={isWrong}>
      <summary className="text-sm font-medium">{mcp("more")}</summary>
      <div className="grid gap-4 pt-3">
        <Fields
          form={form}
          change={change}
          fields={[
            row([
              input("alias", t("server.alias"), {
                hint: t("server.aliasHint"),
                error: alias && t(`server.problems.${alias}`),
                ...PLAIN,
              }),
              input(place, t(`server.${place}`), { hint: t(`server.${place}Hint`), ...PLAIN }),
            ]),
            <TimeFields form={form} problems={problems} onChange={change} />,
            row([
              choice(
                "sessionScope",
                t("server.sessionScope"),
                SESSION_SCOPES.map((value) => ({
                  value,
                  label: t(`server.sessionScopes.${value}`),
                })),
              ),
              input("maxConcurrency", t("server.maxConcurrency"), {
                error: maxConcurrency && t(`server.problems.${maxConcurrency}`),
                inputMode: "numeric",
              }),
            ]),
            choice(
              "onToolChange",
              t("server.onChange"),
              ON_CHANGES.map((value) => ({ value, label: t(`server.onChanges.${value}`) })),
            ),
            <Checkbox
              label={mcp("enabled")}
              checked={!form.disabled}
              onChange={(event) => change({ disabled: !event.target.checked })}
            />,
          ]}
        />
      </div>
    </details>
  );
}
