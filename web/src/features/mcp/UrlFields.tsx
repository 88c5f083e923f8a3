/** A server that is reached at an address. */

import { useTranslation } from "react-i18next";

import { Field, Input, Select } from "@/components/ui/Field";

import type { WayProps } from "./ConnectionFields";
import { SecretRows } from "./SecretRows";
import type { UrlTransport } from "./serverForm";

const TRANSPORTS: UrlTransport[] = ["auto", "streamable_http", "sse"];

export function UrlFields({ form, problems, onChange }: WayProps) {
  const { t } = useTranslation("mcp");
  return (
    <>
      <div className="grid gap-4 sm:grid-cols-[1fr_13rem]">
        <Field
          label={t("url")}
          hint={t("urlHint")}
          error={problems.url && t(`problems.${problems.url}`)}
        >
          {(control) => (
            <Input
              {...control}
              type="url"
              inputMode="url"
              autoComplete="off"
              spellCheck={false}
              placeholder="https://mcp.example.com/mcp"
              value={form.url}
              onChange={(event) => onChange({ url: event.target.value })}
            />
          )}
        </Field>
        <Field label={t("transport")}>
          {(control) => (
            <Select
              {...control}
              value={form.transport}
              onChange={(event) => {
                const chosen = TRANSPORTS.find((each) => each === event.target.value);
                if (chosen) onChange({ transport: chosen });
              }}
            >
              {TRANSPORTS.map((each) => (
                <option key={each} value={each}>
                  {t(`transportChoices.${each}`)}
                </option>
              ))}
            </Select>
          )}
        </Field>
      </div>
      <SecretRows
        rows={form.headers}
        onChange={(headers) => onChange({ headers })}
        legend={t("headers")}
        hint={t("headersHint")}
        nameLabel={t("headerName")}
        add={t("addHeader")}
        areProblemsShown={problems.headers !== undefined}
      />
    </>
  );
}
