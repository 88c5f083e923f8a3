/**
 * What a statement becomes when another user asks it: the verdict, the SQL that would run, its
 * rules.
 */

import { useMutation } from "@tanstack/react-query";
import { useState, type SyntheticEvent } from "react";
import { useTranslation } from "react-i18next";

import { api, call } from "@/api/client";
import { CodeBlock } from "@/components/CodeBlock";
import { Badge } from "@/components/ui/Badge";
import { Button } from "@/components/ui/Button";
import { Field } from "@/components/ui/Field";
import { Textarea } from "@/components/ui/Input";
import { Card } from "@/components/ui/Page";

import { Refusal } from "./Refusal";
import type { Source } from "./queries";

interface CheckAsProps {
  source: Source;
  userId: string;
  name: string;
  /** For a statement to begin with. */
  firstTable: string | undefined;
}

export function CheckAs({ source, userId, name, firstTable }: CheckAsProps) {
  const { t } = useTranslation("admin");
  const [sql, setSql] = useState(firstTable === undefined ? "" : `SELECT * FROM ${firstTable}`);
  const check = useMutation({
    mutationFn: () => {
      const params = { path: { source_id: source.source_id }, query: { as_user: userId } };
      return call(api.POST("/api/v1/data-sources/{source_id}/check", { params, body: { sql } }));
    },
  });
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    check.mutate();
  };
  return (
    <Card title={t("policies.check.title", { name })}>
      <form className="grid gap-3" onSubmit={submit}>
        <Field label={t("policies.check.sql")} hint={t("policies.check.hint")}>
          {(control) => (
            <Textarea
              {...control}
              className="font-mono text-[13px]"
              value={sql}
              required
              spellCheck={false}
              onChange={(event) => setSql(event.target.value)}
            />
          )}
        </Field>
        <div>
          <Button type="submit" variant="primary" isBusy={check.isPending}>
            {t("policies.check.run")}
          </Button>
        </div>
      </form>
      <div className="mt-3 grid gap-3" aria-live="polite">
        <Refusal error={check.error} />
        {check.data && (
          <>
            <div>
              <Badge tone="good">{t("policies.check.allowed")}</Badge>
            </div>
            <CodeBlock
              code={check.data.sql_executed}
              language="sql"
              label={t("policies.check.executed")}
            />
            <div className="text-sm">
              <div className="font-medium">{t("policies.check.rules")}</div>
              {check.data.policy.length === 0 ? (
                <p className="text-muted">{t("policies.check.noRules")}</p>
              ) : (
                <ul className="list-disc pl-5">
                  {check.data.policy.map((rule) => (
                    <li key={rule}>{rule}</li>
                  ))}
                </ul>
              )}
            </div>
          </>
        )}
      </div>
    </Card>
  );
}
