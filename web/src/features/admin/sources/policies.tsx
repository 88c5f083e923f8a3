/** The rules of a data source: who sees which tables, rows and columns. */

import { queryOptions, useQuery } from "@tanstack/react-query";
import { ShieldQuestion } from "lucide-react";
import { useTranslation } from "react-i18next";

import { api, ApiError, call, type Schemas } from "@/api/client";
import { CodeBlock } from "@/components/CodeBlock";
import { Badge } from "@/components/ui/Badge";
import { Field } from "@/components/ui/Field";
import { Card } from "@/components/ui/Page";
import { EmptyState } from "@/components/ui/States";
import type { Source } from "@/features/data/queries";

import { Problem, ProblemBanner } from "../kit/change";
import { EditDialog, input, lines } from "../kit/form";
import { AddButton, confirmed, RowButtons } from "../kit/list";
import { Loaded } from "../kit/load";
import { useNameOf, usePeople, UserSelect } from "../kit/people";
import { pathOf, SOURCE_KEYS, SOURCES } from "./queries";
import {
  EXAMPLE,
  NEW_RULES,
  policyProblemsOf,
  rulesOf,
  textOf,
  usersOf,
  withSubject,
} from "./rules";

type Policy = Schemas["PolicyInfo"];

const POLICIES = "/api/v1/data-sources/{source_id}/policies";
const POLICY = "/api/v1/data-sources/{source_id}/policies/{policy_id}";

const policiesQuery = (source: Source) =>
  queryOptions({
    queryKey: [...SOURCES, "policies", source.source_id],
    queryFn: () => call(api.GET(POLICIES, { params: pathOf(source) })),
  });

const policyPath = (source: Source, policy: Policy) => ({
  params: { path: { ...pathOf(source).path, policy_id: policy.policy_id } },
});

export function PoliciesTab({ source }: { source: Source }) {
  const { t } = useTranslation("admin");
  const policies = useQuery(policiesQuery(source));
  return (
    <div className="grid gap-4">
      <div className="flex flex-wrap items-start gap-3">
        <p className="min-w-0 flex-1 basis-60 text-sm text-muted">{t("policies.text")}</p>
        <AddButton
          label={t("policies.add")}
          variant="secondary"
          dialog={(close) => <PolicyDialog source={source} policy={null} onClose={close} />}
        />
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
              <PolicyCard key={policy.policy_id} source={source} policy={policy} />
            ))
          )
        }
      </Loaded>
    </div>
  );
}

interface PolicyCardProps {
  source: Source;
  policy: Policy;
}

function PolicyCard({ source, policy }: PolicyCardProps) {
  const { t } = useTranslation("admin");
  const { t: common } = useTranslation();
  const nameOf = useNameOf();
  const { name } = policy;
  const users = usersOf(policy.rules);
  return (
    <Card
      title={name}
      actions={
        policy.is_from_config ? (
          <Badge>{t("sources.fromConfig")}</Badge>
        ) : (
          <RowButtons
            actions={[
              {
                label: t("policies.editNamed", { name }),
                text: common("edit"),
                dialog: (close) => <PolicyDialog source={source} policy={policy} onClose={close} />,
              },
              confirmed({
                label: t("policies.deleteNamed", { name }),
                text: common("delete"),
                isDanger: true,
                title: t("policies.deleteTitle", { name }),
                explanation: t("policies.deleteText"),
                run: () => call(api.DELETE(POLICY, policyPath(source, policy))),
                keys: SOURCE_KEYS,
              }),
            ]}
          />
        )
      }
    >
      <div className="grid gap-2">
        {users.length > 0 && (
          <p className="text-sm text-muted">
            {t("policies.users", { names: users.map(nameOf).join(", ") })}
          </p>
        )}
        <CodeBlock code={textOf(policy.rules)} language="json" label={name} />
      </div>
    </Card>
  );
}

interface PolicyDialogProps {
  source: Source;
  /** Null: a new one. */
  policy: Policy | null;
  onClose: () => void;
}

function PolicyDialog({ source, policy, onClose }: PolicyDialogProps) {
  const { t } = useTranslation("admin");
  const { t: common } = useTranslation();
  return (
    <EditDialog
      width="wide"
      title={policy === null ? t("policies.add") : t("policies.editTitle", { name: policy.name })}
      save={t("policies.save")}
      initial={() => ({ name: policy?.name ?? "", text: textOf(policy?.rules ?? NEW_RULES) })}
      isDisabled={({ text }) => !("rules" in rulesOf(text))}
      fields={({ form, change }) => {
        const parsed = rulesOf(form.text);
        return [
          input("name", t("policies.name"), { required: true, maxLength: 200 }),
          lines("text", t("policies.rules"), {
            hint: t("policies.rulesHint"),
            error: "problem" in parsed ? t("policies.noJson", { problem: parsed.problem }) : null,
            className: "min-h-64 font-mono text-[13px]",
            required: true,
            spellCheck: false,
          }),
          <AddUser text={form.text} onChange={(text) => change({ text })} />,
          <RulesExample />,
        ];
      }}
      run={({ name, text }) => {
        const parsed = rulesOf(text);
        const body = { name: name.trim(), rules: "rules" in parsed ? parsed.rules : {} };
        return policy === null
          ? call(api.POST(POLICIES, { params: pathOf(source), body }))
          : call(api.PUT(POLICY, { ...policyPath(source, policy), body }));
      }}
      keys={SOURCE_KEYS}
      done={common("saved")}
      problem={PolicyProblem}
      onClose={onClose}
    />
  );
}

/** Names a user in the rules, for whom ids are not at hand. */
function AddUser({ text, onChange }: { text: string; onChange: (text: string) => void }) {
  const { t } = useTranslation("admin");
  const people = usePeople();
  const parsed = rulesOf(text);
  const named = "rules" in parsed ? usersOf(parsed.rules) : [];
  const names = people.filter((each) => named.includes(each.id)).map((each) => each.username);
  const add = (userId: string) => {
    if ("rules" in parsed && userId !== "")
      onChange(textOf(withSubject(parsed.rules, "users", userId)));
  };
  return (
    <Field
      label={t("policies.addUser")}
      hint={
        names.length > 0
          ? t("policies.users", { names: names.join(", ") })
          : t("policies.addUserHint")
      }
    >
      {(control) => (
        <UserSelect
          control={control}
          value=""
          empty={t("policies.chooseUser")}
          without={named}
          onChange={add}
        />
      )}
    </Field>
  );
}

function RulesExample() {
  const { t } = useTranslation("admin");
  return (
    <details className="text-sm">
      <summary className="text-accent">{t("policies.example")}</summary>
      <div className="mt-2 grid gap-2">
        <p className="text-muted">{t("policies.exampleText")}</p>
        <CodeBlock code={textOf(EXAMPLE)} language="json" label={t("policies.example")} />
      </div>
    </details>
  );
}

/** Why the server refuses a policy: a sentence for each part that does not fit the source. */
function PolicyProblem({ error }: { error: unknown }) {
  const problems = error instanceof ApiError ? policyProblemsOf(error.details) : [];
  if (problems.length < 2) return <Problem error={error} />;
  return (
    <ProblemBanner error={error}>
      <ul className="list-disc pl-4">
        {problems.map((problem) => (
          <li key={problem}>{problem}</li>
        ))}
      </ul>
    </ProblemBanner>
  );
}
