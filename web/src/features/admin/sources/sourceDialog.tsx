/** Register a data source, or change one. */

import { useTranslation } from "react-i18next";

import { api, call } from "@/api/client";
import type { Source } from "@/features/data/queries";

import { checkbox, choice, EditDialog, input, lines, PLAIN, row } from "../kit/form";
import { pathOf, SOURCE_KEYS } from "./queries";
import { createOf, sourceFormOf, NEW_SOURCE, updateOf } from "./sourceForm";

const KINDS = ["database", "files"] as const;
const POLICIES = ["allow", "deny"] as const;
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
      initial={() => ({ ...(isNew ? NEW_SOURCE : sourceFormOf(source)), isChecked: true })}
      fields={({ form }) => [
        input("name", t("sources.name"), {
          hint: t("sources.nameHint"),
          required: true,
          maxLength: 64,
          spellCheck: false,
        }),
        isNew &&
          choice(
            "kind",
            t("sources.kind"),
            KINDS.map((value) => ({ value, label: t(`sources.kinds.${value}`) })),
          ),
        // An address is write-only: it is never shown again.
        form.kind === "database"
          ? input("url", t("sources.address"), {
              hint: t(isNew ? "sources.addressHint" : "sources.addressKept"),
              ...PLAIN,
              type: "password",
              required: isNew,
              placeholder: ADDRESS_EXAMPLE,
            })
          : input("folder", t("sources.folder"), {
              hint: t("sources.folderHint"),
              required: isNew,
              maxLength: 4096,
              spellCheck: false,
              placeholder: "/srv/reports",
            }),
        lines("description", t("sources.description"), {
          hint: t("sources.descriptionHint"),
          maxLength: 4000,
        }),
        row([
          input("timeZone", t("sources.timeZone"), {
            required: true,
            maxLength: 64,
            placeholder: "Asia/Shanghai",
            spellCheck: false,
          }),
          choice(
            "defaultPolicy",
            t("sources.defaultPolicy"),
            POLICIES.map((value) => ({ value, label: t(`sources.defaultPolicies.${value}`) })),
            { hint: t("sources.defaultPolicyHint") },
          ),
        ]),
        row(
          LIMITS.map(({ name, min, step }) =>
            input(name, t(`sources.limitNames.${name}`), {
              type: "number",
              min,
              step,
              placeholder: t("sources.limitUsual"),
            }),
          ),
          { columns: 3, legend: t("sources.limits"), hint: t("sources.limitsHint") },
        ),
        checkbox("isChecked", t("sources.check")),
        isNew && <p className="text-xs text-muted">{t("sources.newHint")}</p>,
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
