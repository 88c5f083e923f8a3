/** Open a data source to one more user, tenant or agent. */

import { useState } from "react";
import { useTranslation } from "react-i18next";

import { Button } from "@/components/ui/Button";
import { Select } from "@/components/ui/Input";

import type { Grant } from "./queries";
import { NAMED_KINDS, useSubjects, type NamedKind } from "./subjects";

export function AddGrant({ onAdd }: { onAdd: (grant: Grant) => void }) {
  const { t } = useTranslation("admin");
  const subjects = useSubjects();
  const [kind, setKind] = useState<NamedKind>("user");
  const [id, setId] = useState("");
  const add = () => {
    onAdd({ subject_kind: kind, subject_id: id });
    setId("");
  };
  return (
    <div className="flex flex-wrap gap-2">
      <Select
        aria-label={t("sources.access.kind")}
        className="w-32"
        value={kind}
        onChange={(event) => {
          setKind(NAMED_KINDS.find((each) => each === event.target.value) ?? "user");
          setId("");
        }}
      >
        {NAMED_KINDS.map((each) => (
          <option key={each} value={each}>
            {t(`sources.subjects.${each}`)}
          </option>
        ))}
      </Select>
      <Select
        aria-label={t("sources.access.who")}
        className="w-56 max-w-full flex-1"
        value={id}
        onChange={(event) => setId(event.target.value)}
      >
        <option value="">{t("sources.access.choose")}</option>
        {subjects[kind].map((each) => (
          <option key={each.id} value={each.id}>
            {each.name}
          </option>
        ))}
      </Select>
      <Button disabled={id === ""} onClick={add}>
        {t("sources.access.add")}
      </Button>
    </div>
  );
}
