/** A data source as one of its readers sees it: tables, columns, and what a query becomes. */

import { queryOptions, useMutation, useQuery } from "@tanstack/react-query";
import { EyeOff, UserRoundSearch } from "lucide-react";
import { useState, type SyntheticEvent } from "react";
import { useTranslation } from "react-i18next";

import { api, ApiError, call, type Schemas } from "@/api/client";
import { CodeBlock } from "@/components/CodeBlock";
import { Badge } from "@/components/ui/Badge";
import { Banner } from "@/components/ui/Banner";
import { Button } from "@/components/ui/Button";
import { Card } from "@/components/ui/Page";
import { EmptyState } from "@/components/ui/States";
import type { Source } from "@/features/data/queries";
import { useErrorText } from "@/lib/errorText";
import { formatNumber } from "@/lib/format";

import { Fields, lines, user } from "../kit/form";
import { Loaded } from "../kit/load";
import { useNameOf } from "../kit/people";
import { pathOf } from "./queries";

/** What another user sees of a source. It is recorded, so it is loaded only on demand. */
const viewAsQuery = (source: Source, userId: string) =>
  queryOptions({
    queryKey: ["admin", "view-as", source.source_id, userId],
    queryFn: () => {
      const params = { ...pathOf(source), query: { as_user: userId } };
      return call(api.GET("/api/v1/data-sources/{source_id}/catalogue", { params }));
    },
    refetchOnWindowFocus: false,
    enabled: userId !== "",
  });

export function ViewAsTab({ source }: { source: Source }) {
  const { t } = useTranslation("admin");
  const [form, setForm] = useState({ userId: "" });
  return (
    <div className="grid gap-4">
      <p className="text-sm text-muted">{t("policies.viewAs.text")}</p>
      <div className="max-w-sm">
        <Fields
          form={form}
          change={(changes) => setForm({ ...form, ...changes })}
          fields={[user("userId", t("policies.viewAs.user"), t("policies.chooseUser"))]}
        />
      </div>
      {form.userId === "" ? (
        <EmptyState icon={UserRoundSearch} title={t("policies.viewAs.nobody")} />
      ) : (
        <ViewAs key={form.userId} source={source} userId={form.userId} />
      )}
    </div>
  );
}

function ViewAs({ source, userId }: { source: Source; userId: string }) {
  const { t } = useTranslation("admin");
  const name = useNameOf()(userId);
  const seen = useQuery(viewAsQuery(source, userId));
  if (seen.error instanceof ApiError && seen.error.status === 404)
    return (
      <EmptyState
        icon={EyeOff}
        title={t("policies.viewAs.nothing", { name })}
        text={t("policies.viewAs.nothingText")}
      />
    );
  return (
    <Loaded query={seen}>
      {({ tables }) => (
        <div className="grid gap-4">
          <VisibleTables tables={tables} name={name} />
          <CheckAs source={source} userId={userId} name={name} firstTable={tables[0]?.key} />
        </div>
      )}
    </Loaded>
  );
}

interface VisibleTablesProps {
  tables: Schemas["TableInfo"][];
  name: string;
}

function VisibleTables({ tables, name }: VisibleTablesProps) {
  const { t } = useTranslation("admin");
  const count = tables.length;
  return (
    <Card title={t("policies.viewAs.tables", { name, count, tables: formatNumber(count) })}>
      <ul className="max-h-96 divide-y divide-line overflow-y-auto text-sm">
        {tables.map((table) => (
          <li key={table.key}>
            <details className="py-1.5">
              <summary>
                <span className="font-medium">{table.key}</span>{" "}
                <span className="text-muted">
                  {t("policies.viewAs.columns", { count: table.columns.length })}
                </span>
              </summary>
              <p className="mt-1 pl-4 [overflow-wrap:anywhere] text-muted">
                {table.columns.map((column) => column.name).join(", ")}
              </p>
            </details>
          </li>
        ))}
      </ul>
    </Card>
  );
}

interface CheckAsProps {
  source: Source;
  userId: string;
  name: string;
  /** For a statement to begin with. */
  firstTable: string | undefined;
}

/** What a statement becomes for the user: the verdict, the SQL that would run, its rules. */
function CheckAs({ source, userId, name, firstTable }: CheckAsProps) {
  const { t } = useTranslation("admin");
  const [form, setForm] = useState({
    sql: firstTable === undefined ? "" : `SELECT * FROM ${firstTable}`,
  });
  const check = useMutation({
    mutationFn: () => {
      const params = { ...pathOf(source), query: { as_user: userId } };
      return call(api.POST("/api/v1/data-sources/{source_id}/check", { params, body: form }));
    },
  });
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    check.mutate();
  };
  return (
    <Card title={t("policies.check.title", { name })}>
      <form className="grid gap-3" onSubmit={submit}>
        <Fields
          form={form}
          change={(changes) => setForm({ ...form, ...changes })}
          fields={[
            lines("sql", t("policies.check.sql"), {
              hint: t("policies.check.hint"),
              className: "font-mono text-[13px]",
              required: true,
              spellCheck: false,
            }),
          ]}
        />
        <div>
          <Button type="submit" variant="primary" isBusy={check.isPending}>
            {t("policies.check.run")}
          </Button>
        </div>
      </form>
      <div className="mt-3 grid gap-3" aria-live="polite">
        {check.error && <Rejection error={check.error} />}
        {check.data && <Verdict verdict={check.data} />}
      </div>
    </Card>
  );
}

function Verdict({ verdict }: { verdict: { sql_executed: string; policy: string[] } }) {
  const { t } = useTranslation("admin");
  return (
    <>
      <div>
        <Badge tone="good">{t("policies.check.allowed")}</Badge>
      </div>
      <CodeBlock code={verdict.sql_executed} language="sql" label={t("policies.check.executed")} />
      <div className="text-sm">
        <div className="font-medium">{t("policies.check.rules")}</div>
        {verdict.policy.length === 0 ? (
          <p className="text-muted">{t("policies.check.noRules")}</p>
        ) : (
          <ul className="list-disc pl-5">
            {verdict.policy.map((rule) => (
              <li key={rule}>{rule}</li>
            ))}
          </ul>
        )}
      </div>
    </>
  );
}

/** Why a statement may not run. */
function Rejection({ error }: { error: Error }) {
  const { t } = useTranslation("admin");
  const textOf = useErrorText();
  const isVerdict = error instanceof ApiError && error.status >= 400 && error.status < 500;
  return (
    <>
      {isVerdict && (
        <div>
          <Badge tone="danger">{t("policies.check.refused")}</Badge>
        </div>
      )}
      <Banner kind="danger">{isVerdict ? error.message : textOf(error)}</Banner>
    </>
  );
}
