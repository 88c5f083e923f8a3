/** Register a data source, or change one. */

import { useState } from "react";
import { useTranslation } from "react-i18next";

import { api, call } from "@/api/client";
import { Checkbox } from "@/components/ui/Checkbox";
import { FormDialog } from "@/components/ui/FormDialog";

import { useChange } from "../parts/change";
import { Problem } from "../parts/Problem";
import { createOf, formOf, NEW_SOURCE, updateOf } from "./form";
import { TOUCHED, type Source } from "./queries";
import { SourceFields } from "./SourceFields";
import { SourceLimits } from "./SourceLimits";

interface SourceDialogProps {
  /** Null: a new one. */
  source: Source | null;
  onClose: () => void;
  onCreated?: (source: Source) => void;
}

export function SourceDialog({ source, onClose, onCreated }: SourceDialogProps) {
  const { t } = useTranslation("admin");
  const { t: common } = useTranslation();
  const [form, setForm] = useState(() => (source === null ? NEW_SOURCE : formOf(source)));
  const [isChecked, setIsChecked] = useState(true);
  const save = useChange(
    () => {
      const query = { check: isChecked };
      if (source === null)
        return call(api.POST("/api/v1/data-sources", { params: { query }, body: createOf(form) }));
      const params = { path: { source_id: source.source_id }, query };
      const body = updateOf(form, source);
      return call(api.PUT("/api/v1/data-sources/{source_id}", { params, body }));
    },
    {
      keys: TOUCHED,
      done: common("saved"),
      onDone: (saved) => {
        onClose();
        if (source === null) onCreated?.(saved);
      },
    },
  );
  return (
    <FormDialog
      title={source === null ? t("sources.add") : t("sources.editTitle", { name: source.name })}
      save={source === null ? t("sources.add") : common("save")}
      isBusy={save.isPending}
      problem={<Problem error={save.error} />}
      onSubmit={() => save.mutate(undefined)}
      onClose={onClose}
    >
      <SourceFields form={form} isNew={source === null} onChange={setForm} />
      <SourceLimits form={form} onChange={setForm} />
      <Checkbox
        label={t("sources.check")}
        checked={isChecked}
        onChange={(event) => setIsChecked(event.target.checked)}
      />
      {source === null && <p className="text-xs text-muted">{t("sources.newHint")}</p>}
    </FormDialog>
  );
}
