/** Write a policy. The server says what does not fit the source; what was typed is kept. */

import { useState, type SyntheticEvent } from "react";
import { useTranslation } from "react-i18next";

import { api, call } from "@/api/client";
import { Button } from "@/components/ui/Button";
import { Dialog } from "@/components/ui/Dialog";
import { Field } from "@/components/ui/Field";
import { Input } from "@/components/ui/Input";

import { useChange } from "../parts/change";
import { PolicyProblem } from "./PolicyProblem";
import { policiesQuery, TOUCHED, type Policy, type Source } from "./queries";
import { NEW_RULES, rulesOf, textOf, type Rules } from "./rules";
import { RulesEditor } from "./RulesEditor";

interface PolicyDialogProps {
  source: Source;
  /** Null: a new one. */
  policy: Policy | null;
  onClose: () => void;
}

export function PolicyDialog({ source, policy, onClose }: PolicyDialogProps) {
  const { t } = useTranslation("admin");
  const { t: common } = useTranslation();
  const [name, setName] = useState(policy?.name ?? "");
  const [text, setText] = useState(() => textOf(policy?.rules ?? NEW_RULES));
  const parsed = rulesOf(text);
  const save = useChange(
    (rules: Rules) => {
      const body = { name: name.trim(), rules };
      const path = { source_id: source.source_id };
      if (policy === null)
        return call(
          api.POST("/api/v1/data-sources/{source_id}/policies", { params: { path }, body }),
        );
      const params = { path: { ...path, policy_id: policy.policy_id } };
      return call(
        api.PUT("/api/v1/data-sources/{source_id}/policies/{policy_id}", { params, body }),
      );
    },
    {
      keys: [policiesQuery(source.source_id).queryKey, ...TOUCHED],
      done: common("saved"),
      onDone: onClose,
    },
  );
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    if ("rules" in parsed) save.mutate(parsed.rules);
  };
  return (
    <Dialog
      isOpen
      isSticky
      onClose={onClose}
      title={policy === null ? t("policies.add") : t("policies.editTitle", { name: policy.name })}
      width="wide"
      footer={
        <>
          <Button onClick={onClose}>{common("cancel")}</Button>
          <Button
            variant="primary"
            type="submit"
            form="policy"
            disabled={!("rules" in parsed)}
            isBusy={save.isPending}
          >
            {t("policies.save")}
          </Button>
        </>
      }
    >
      <form id="policy" className="grid gap-4" onSubmit={submit}>
        <Field label={t("policies.name")}>
          {(control) => (
            <Input
              {...control}
              value={name}
              required
              maxLength={200}
              onChange={(event) => setName(event.target.value)}
            />
          )}
        </Field>
        <RulesEditor
          text={text}
          problem={"problem" in parsed ? t("policies.noJson", { problem: parsed.problem }) : null}
          onChange={setText}
        />
        <PolicyProblem error={save.error} />
      </form>
    </Dialog>
  );
}
