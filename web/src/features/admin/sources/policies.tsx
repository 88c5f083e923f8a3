/** The rules of a data source: who sees which tables, rows and columns. */

import { queryOptions, useQuery } from "@tanstack/react-query";
import { ShieldQuestion } from "lucide-react";
import { useTranslation } from "react-i18next";

import { api, ApiError, call, type Schemas } from "@/api/client";
import { CodeBlock } from "@/components/CodeBlock";
import { Badge } from "@/components/ui/Badge";
import { Button } from "@/components/ui/Button";
import { Card } from "@/components/ui/Page";
import { EmptyState } from "@/components/ui/States";
import { Field } from "@/components/ui/Field";

import { ConfirmChange, Problem, ProblemBanner } from "../kit/change";
import { EditDialog } from "../kit/form";
import { AddButton, useDialog } from "../kit/list";
import { Loaded } from "../kit/load";
import { useNameOf, usePeople, UserSelect } from "../kit/people";
import { pathOf, SOURCE_KEYS, SOURCES, type Source } from "./queries";
import { EXAMPLE, NEW_RULES, problemsOf, rulesOf, textOf, usersOf, withSubject } from "./rules";

type Policy = Schemas["PolicyInfo"];

const policiesQuery = (source: Source) =>
  queryOptions({
    queryKey: [...SOURCES, "policies", source.source_id],
    queryFn: () =>
      call(api.GET("/api/v1/data-sources/{source_id}/policies", { params: pathOf(source) })),
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
  const [opened, open] = useDialog();
  const { name } = policy;
  const users = usersOf(policy.rules);
  const confirmDelete = (close: () => void) => (
    <ConfirmChange
      title={t("policies.deleteTitle", { name })}
      text={t("policies.deleteText")}
      confirm={common("delete")}
      isDanger
      run={() =>
        call(
          api.DELETE(
            "/api/v1/data-sources/{source_id}/policies/{policy_id}",
            policyPath(source, policy),
          ),
        )
      }
      keys={SOURCE_KEYS}
      onClose={close}
    />
  );
  return (
    <Card
      title={name}
      actions={
        policy.is_from_config ? (
          <Badge>{t("sources.fromConfig")}</Badge>
        ) : (
          <>
            <Button
              size="small"
              aria-label={t("policies.editNamed", { name })}
              onClick={() =>
                open((close) => <PolicyDialog source={source} policy={policy} onClose={close} />)
              }
            >
              {common("edit")}
            </Button>
            <Button
              size="small"
              variant="danger"
              aria-label={t("policies.deleteNamed", { name })}
              onClick={() => open(confirmDelete)}
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
        <CodeBlock code={textOf(policy.rules)} language="json" label={name} />
      </div>
      {opened}
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
          {
            kind: "input",
            name: "name",
            label: t("policies.name"),
            input: { required: true, maxLength: 200 },
          },
          {
            kind: "lines",
            name: "text",
            label: t("policies.rules"),
            hint: t("policies.rulesHint"),
            error: "problem" in parsed ? t("policies.noJson", { problem: parsed.problem }) : null,
            input: {
              className: "min-h-64 font-mono text-[13px]",
              required: true,
              spellCheck: false,
            },
          },
          {
            kind: "own",
            content: <AddUser text={form.text} onChange={(text) => change({ text })} />,
          },
          { kind: "own", content: <RulesExample /> },
        ];
      }}
      run={({ name, text }) => {
        const parsed = rulesOf(text);
        const body = { name: name.trim(), rules: "rules" in parsed ? parsed.rules : {} };
        return policy === null
          ? call(
              api.POST("/api/v1/data-sources/{source_id}/policies", {
                params: pathOf(source),
                body,
              }),
            )
          : call(
              api.PUT("/api/v1/data-sources/{source_id}/policies/{policy_id}", {
                ...policyPath(source, policy),
                body,
              }),
            );
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
  const problems = error instanceof ApiError ? problemsOf(error.details) : [];
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
