/** Where a data source lies: a database's address, which is never shown again, or a folder. */

import { useTranslation } from "react-i18next";

import { Field } from "@/components/ui/Field";
import { Input, Select } from "@/components/ui/Input";

import type { SourceFieldsProps } from "./SourceFields";

const ADDRESS_EXAMPLE = "postgresql://reader:secret@db.example.com:5432/sales";

export function AddressField({ form, isNew, onChange }: SourceFieldsProps) {
  const { t } = useTranslation("admin");
  return (
    <>
      {isNew && (
        <Field label={t("sources.kind")}>
          {(control) => (
            <Select
              {...control}
              value={form.kind}
              onChange={(event) =>
                onChange({ ...form, kind: event.target.value === "files" ? "files" : "database" })
              }
            >
              <option value="database">{t("sources.kinds.database")}</option>
              <option value="files">{t("sources.kinds.files")}</option>
            </Select>
          )}
        </Field>
      )}
      {form.kind === "database" ? (
        <Field
          label={t("sources.address")}
          hint={t(isNew ? "sources.addressHint" : "sources.addressKept")}
        >
          {(control) => (
            <Input
              {...control}
              type="password"
              value={form.url}
              required={isNew}
              autoComplete="off"
              spellCheck={false}
              placeholder={ADDRESS_EXAMPLE}
              onChange={(event) => onChange({ ...form, url: event.target.value })}
            />
          )}
        </Field>
      ) : (
        <Field label={t("sources.folder")} hint={t("sources.folderHint")}>
          {(control) => (
            <Input
              {...control}
              value={form.folder}
              required={isNew}
              maxLength={4096}
              spellCheck={false}
              placeholder="/srv/reports"
              onChange={(event) => onChange({ ...form, folder: event.target.value })}
            />
          )}
        </Field>
      )}
    </>
  );
}
