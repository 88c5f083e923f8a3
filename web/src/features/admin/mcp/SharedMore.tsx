/** The settings of a shared server that mostly stay as they are. */

import { useTranslation } from "react-i18next";

import { Checkbox } from "@/components/ui/Checkbox";
import { Field } from "@/components/ui/Field";
import { Input, Select } from "@/components/ui/Input";
import { TimeFields } from "@/features/mcp/TimeFields";

import type { SharedFieldsProps } from "./ScopeFields";
import type { OnChange, SessionScope } from "./sharedForm";

const SESSION_SCOPES: SessionScope[] = ["shared", "user", "session"];
const ON_CHANGES: OnChange[] = ["quarantine", "accept"];

export function SharedMore({ form, problems, onChange }: SharedFieldsProps) {
  const { t } = useTranslation("mcpAdmin");
  const { t: mcp } = useTranslation("mcp");
  const { alias, maxConcurrency, timeout, callTimeout } = problems;
  const isWrong = [alias, maxConcurrency, timeout, callTimeout].some((each) => each !== undefined);
  const texts = ["alias", form.way === "command" ? "cwd" : "proxyUrl"] as const;
  return (
    <details open={isWrong}>
      <summary className="text-sm font-medium">{mcp("more")}</summary>
      <div className="grid gap-4 pt-3">
        <div className="grid gap-4 sm:grid-cols-2">
          {texts.map((name) => (
            <Field
              key={name}
              label={t(`server.${name}`)}
              hint={t(`server.${name}Hint`)}
              error={name === "alias" && alias ? t(`server.problems.${alias}`) : null}
            >
              {(control) => (
                <Input
                  {...control}
                  autoComplete="off"
                  spellCheck={false}
                  value={form[name]}
                  onChange={(event) => onChange({ [name]: event.target.value })}
                />
              )}
            </Field>
          ))}
        </div>
        <TimeFields form={form} problems={problems} onChange={onChange} />
        <div className="grid gap-4 sm:grid-cols-2">
          <Field label={t("server.sessionScope")}>
            {(control) => (
              <Select
                {...control}
                value={form.sessionScope}
                onChange={(event) => {
                  const chosen = SESSION_SCOPES.find((each) => each === event.target.value);
                  if (chosen) onChange({ sessionScope: chosen });
                }}
              >
                {SESSION_SCOPES.map((each) => (
                  <option key={each} value={each}>
                    {t(`server.sessionScopes.${each}`)}
                  </option>
                ))}
              </Select>
            )}
          </Field>
          <Field
            label={t("server.maxConcurrency")}
            error={maxConcurrency && t(`server.problems.${maxConcurrency}`)}
          >
            {(control) => (
              <Input
                {...control}
                inputMode="numeric"
                value={form.maxConcurrency}
                onChange={(event) => onChange({ maxConcurrency: event.target.value })}
              />
            )}
          </Field>
        </div>
        <Field label={t("server.onChange")}>
          {(control) => (
            <Select
              {...control}
              value={form.onToolChange}
              onChange={(event) => {
                const chosen = ON_CHANGES.find((each) => each === event.target.value);
                if (chosen) onChange({ onToolChange: chosen });
              }}
            >
              {ON_CHANGES.map((each) => (
                <option key={each} value={each}>
                  {t(`server.onChanges.${each}`)}
                </option>
              ))}
            </Select>
          )}
        </Field>
        <Checkbox
          label={mcp("enabled")}
          checked={!form.disabled}
          onChange={(event) => onChange({ disabled: !event.target.checked })}
        />
      </div>
    </details>
  );
}
