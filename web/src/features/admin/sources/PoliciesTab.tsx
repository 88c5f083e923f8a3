/** The rules of a data source: who sees which tables, rows and columns. */

import { useQuery } from "@tanstack/react-query";
import { Plus, ShieldQuestion } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";

import { api, call } from "@/api/client";
import { Button } from "@/components/ui/Button";
import { EmptyState } from "@/components/ui/States";

import { AskDialog } from "../parts/AskDialog";
import { useChange } from "../parts/change";
import { Loaded } from "../parts/Loaded";
import { PolicyCard } from "./PolicyCard";
import { PolicyDialog } from "./PolicyDialog";
import { policiesQuery, TOUCHED, type Policy, type Source } from "./queries";

export function PoliciesTab({ source }: { source: Source }) {
  const { t } = useTranslation("admin");
  const { t: common } = useTranslation();
  const policies = useQuery(policiesQuery(source.source_id));
  const [edited, setEdited] = useState<Policy | "new" | null>(null);
  const [deleted, setDeleted] = useState<Policy | null>(null);
  const remove = useChange(
    ({ policy_id }: Policy) => {
      const params = { path: { source_id: source.source_id, policy_id } };
      return call(api.DELETE("/api/v1/data-sources/{source_id}/policies/{policy_id}", { params }));
    },
    { keys: TOUCHED, onDone: () => setDeleted(null) },
  );
  return (
    <div className="grid gap-4">
      <div className="flex flex-wrap items-start gap-3">
        <p className="min-w-0 flex-1 basis-60 text-sm text-muted">{t("policies.text")}</p>
        <Button onClick={() => setEdited("new")}>
          <Plus className="size-4" aria-hidden />
          {t("policies.add")}
        </Button>
      </div>
      <Loaded query={policies}>
        {({ items }) =>
          items.length === 0 ? (
            <EmptyState
              icon={ShieldQuestion}
              title={t("policies.none")}
              text={t(`policies.noneText.${source.default_policy}`)}
            />
          ) : (
            items.map((policy) => (
              <PolicyCard
                key={policy.policy_id}
                policy={policy}
                onEdit={() => setEdited(policy)}
                onDelete={() => setDeleted(policy)}
              />
            ))
          )
        }
      </Loaded>
      {edited && (
        <PolicyDialog
          source={source}
          policy={edited === "new" ? null : edited}
          onClose={() => setEdited(null)}
        />
      )}
      {deleted && (
        <AskDialog
          title={t("policies.deleteTitle", { name: deleted.name })}
          text={t("policies.deleteText")}
          confirm={common("delete")}
          isDanger
          isBusy={remove.isPending}
          error={remove.error}
          onConfirm={() => remove.mutate(deleted)}
          onClose={() => {
            remove.reset();
            setDeleted(null);
          }}
        />
      )}
    </div>
  );
}
