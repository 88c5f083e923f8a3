/** A policy: to whom it speaks, and its rules. */

import { useTranslation } from "react-i18next";

import { Badge } from "@/components/ui/Badge";
import { Button } from "@/components/ui/Button";
import { CodeBlock } from "@/components/CodeBlock";
import { Card } from "@/components/ui/Page";

import { useNameOf } from "../parts/people";
import type { Policy } from "./queries";
import { textOf, usersOf } from "./rules";

interface PolicyCardProps {
  policy: Policy;
  onEdit: () => void;
  onDelete: () => void;
}

export function PolicyCard({ policy, onEdit, onDelete }: PolicyCardProps) {
  const { t } = useTranslation("admin");
  const { t: common } = useTranslation();
  const nameOf = useNameOf();
  const users = usersOf(policy.rules);
  return (
    <Card
      title={policy.name}
      actions={
        policy.is_from_config ? (
          <Badge>{t("sources.fromConfig")}</Badge>
        ) : (
          <>
            <Button
              size="small"
              aria-label={t("policies.editNamed", { name: policy.name })}
              onClick={onEdit}
            >
              {common("edit")}
            </Button>
            <Button
              size="small"
              variant="danger"
              aria-label={t("policies.deleteNamed", { name: policy.name })}
              onClick={onDelete}
            >
              {common("delete")}
            </Button>
          </>
        )
      }
    >
      <div className="grid gap-2">
        {users.length > 0 && (
          <p className="text-sm text-muted">
            {t("policies.users", { names: users.map(nameOf).join(", ") })}
          </p>
        )}
        <CodeBlock code={textOf(policy.rules)} language="json" label={policy.name} />
      </div>
    </Card>
  );
}
