/** Who may read a data source: everyone, or those who are named. */

import { X } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";

import { api, call } from "@/api/client";
import { Button } from "@/components/ui/Button";
import { Checkbox } from "@/components/ui/Checkbox";
import { IconButton } from "@/components/ui/IconButton";
import { Card } from "@/components/ui/Page";

import { useChange } from "../parts/change";
import { Problem } from "../parts/Problem";
import { AddGrant } from "./AddGrant";
import { added, EVERYONE, isForEveryone, keyOf, removed } from "./grants";
import { TOUCHED, type Source } from "./queries";
import { useSubjectName } from "./subjects";

export function AccessTab({ source }: { source: Source }) {
  const { t } = useTranslation("admin");
  const { t: common } = useTranslation();
  const nameOf = useSubjectName();
  const [grants, setGrants] = useState(source.grants ?? []);
  const isOpen = isForEveryone(grants);
  const named = removed(grants, EVERYONE);
  const save = useChange(
    () => {
      const params = { path: { source_id: source.source_id } };
      return call(api.PUT("/api/v1/data-sources/{source_id}/grants", { params, body: { grants } }));
    },
    { keys: TOUCHED, done: common("saved") },
  );
  return (
    <Card title={t("sources.access.title")}>
      <fieldset disabled={source.is_from_config} className="grid gap-4">
        <p className="text-sm text-muted">{t("sources.access.text")}</p>
        <Checkbox
          label={t("sources.access.everyone")}
          checked={isOpen}
          onChange={(event) =>
            setGrants(event.target.checked ? added(grants, EVERYONE) : removed(grants, EVERYONE))
          }
        />
        <ul className="grid gap-1" aria-label={t("sources.access.named")}>
          {named.map((grant) => (
            <li
              key={keyOf(grant)}
              className="flex items-center gap-2 rounded-lg border border-line px-3 py-1 text-sm"
            >
              <span className="text-muted">{t(`sources.subjects.${grant.subject_kind}`)}</span>
              <span className="min-w-0 flex-1 [overflow-wrap:anywhere]">{nameOf(grant)}</span>
              <IconButton
                icon={X}
                label={t("sources.access.remove", { name: nameOf(grant) })}
                onClick={() => setGrants(removed(grants, grant))}
                isSmall
              />
            </li>
          ))}
        </ul>
        {!isOpen && named.length === 0 && (
          <p className="text-sm text-muted">{t("sources.access.nobody")}</p>
        )}
        <AddGrant onAdd={(grant) => setGrants(added(grants, grant))} />
        <Problem error={save.error} />
        <div className="flex justify-end">
          <Button variant="primary" isBusy={save.isPending} onClick={() => save.mutate(undefined)}>
            {t("sources.access.save")}
          </Button>
        </div>
      </fieldset>
    </Card>
  );
}
