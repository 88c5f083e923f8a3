/** Register a data source, or change one. */

import { useTranslation } from "react-i18next";

import { api, call } from "@/api/client";

import { EditDialog } from "../kit/form";
import { pathOf, SOURCE_KEYS, type Source } from "./queries";
import { createOf, formOf, NEW_SOURCE, updateOf } from "./sourceForm";

const LIMITS = [
  { name: "maxRows", min: 1, step: 1 },
  { name: "maxMegabytes", min: 0.001, step: "any" },
  { name: "timeoutSeconds", min: 0.1, step: "any" },
] as const;
const ADDRESS_EXAMPLE = "postgresql://reader:secret@db.example.com:5432/sales";

interface SourceDialogProps {
  /** Null: a new one. */
  source: Source | null;
  onClose: () => void;
  onCreated?: (source: Source) => void;
}

export function SourceDialog({ source, onClose, onCreated }: SourceDialogProps) {
  const { t } = useTranslation("admin");
  const { t: common } = useTranslation();
  const isNew = source === null;
  return (
    <EditDialog
      title={isNew ? t("sources.add") : t("sources.editTitle", { name: source.name })}
      save={isNew ? t("sources.add") : common("save")}
      initial={() => ({ ...(isNew ? NEW_SOURCE : formOf(source)), isChecked: true })}
      fields={({ form }) => [
        {
          kind: "input",
          name: "name",
          label: t("sources.name"),
          hint: t("sources.nameHint"),
          input: { required: true, maxLength: 64, spellCheck: false },
        },
        isNew && {
          kind: "choice",
          name: "kind",
          label: t("sources.kind"),
          options: [
            { value: "database", label: t("sources.kinds.database") },
            { value: "files", label: t("sources.kinds.files") },
          ],
        },
        // An address is write-only: it is never shown again.
        form.kind === "database"
          ? {
              kind: "input",
              name: "url",
              label: t("sources.address"),
              hint: t(isNew ? "sources.addressHint" : "sources.addressKept"),
              input: {
                type: "password",
                required: isNew,
                autoComplete: "off",
                spellCheck: false,
                placeholder: ADDRESS_EXAMPLE,
              },
            }
          : {
              kind: "input",
              name: "folder",
              label: t("sources.folder"),
              hint: t("sources.folderHint"),
              input: {
                required: isNew,
                maxLength: 4096,
                spellCheck: false,
                placeholder: "/srv/reports",
              },
            },
        {
          kind: "lines",
          name: "description",
          label: t("sources.description"),
          hint: t("sources.descriptionHint"),
          input: { maxLength: 4000 },
        },
        {
          kind: "row",
          fields: [
            {
              kind: "input",
              name: "timeZone",
              label: t("sources.timeZone"),
              input: {
                required: true,
                maxLength: 64,
                placeholder: "Asia/Shanghai",
                spellCheck: false,
              },
            },
            {
              kind: "choice",
              name: "defaultPolicy",
              label: t("sources.defaultPolicy"),
              hint: t("sources.defaultPolicyHint"),
              options: [
                { value: "allow", label: t("sources.defaultPolicies.allow") },
                { value: "deny", label: t("sources.defaultPolicies.deny") },
              ],
            },
          ],
        },
        {
          kind: "row",
          columns: 3,
          legend: t("sources.limits"),
          hint: t("sources.limitsHint"),
          fields: LIMITS.map(({ name, min, step }) => ({
            kind: "input",
            name,
            label: t(`sources.limitNames.${name}`),
            input: { type: "number", min, step, placeholder: t("sources.limitUsual") },
          })),
        },
        { kind: "check", name: "isChecked", label: t("sources.check") },
        isNew && {
          kind: "own",
          content: <p className="text-xs text-muted">{t("sources.newHint")}</p>,
        },
      ]}
      run={(form) => {
        const query = { check: form.isChecked };
        if (isNew)
          return call(
            api.POST("/api/v1/data-sources", { params: { query }, body: createOf(form) }),
          );
        const params = { ...pathOf(source), query };
        const body = updateOf(form, source);
        return call(api.PUT("/api/v1/data-sources/{source_id}", { params, body }));
      }}
      keys={SOURCE_KEYS}
      done={common("saved")}
      onDone={(saved) => {
        onClose();
        if (isNew) onCreated?.(saved);
      }}
      onClose={onClose}
    />
  );
}
