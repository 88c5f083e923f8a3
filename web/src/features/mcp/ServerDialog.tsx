/** The form of one of the user's own servers. Mount it to open it. */

import { useMutation, useQuery } from "@tanstack/react-query";
import { useId, useState, type SubmitEvent } from "react";
import { useTranslation } from "react-i18next";

import { Button } from "@/components/ui/Button";
import { Checkbox } from "@/components/ui/Checkbox";
import { Dialog } from "@/components/ui/Dialog";
import { Field } from "@/components/ui/Field";
import { Input } from "@/components/ui/Input";

import { ConnectionFields } from "./ConnectionFields";
import { focusFirstProblem } from "./focusProblem";
import { addServer, changeServer, refreshMcp, templatesQuery, type UserServer } from "./queries";
import { Refusal } from "./Refusal";
import {
  createBody,
  emptyForm,
  formOf,
  problemsOf,
  updateBody,
  type ServerForm,
} from "./serverForm";
import { TimeFields } from "./TimeFields";

interface ServerDialogProps {
  userId: string;
  /** The server to change; null adds one. */
  server: UserServer | null;
  onClose: () => void;
  onSaved: (server: UserServer) => void;
}

export function ServerDialog({ userId, server, onClose, onSaved }: ServerDialogProps) {
  const { t } = useTranslation("mcp");
  const { t: common } = useTranslation();
  const formId = useId();
  const [form, setForm] = useState<ServerForm>(() => (server ? formOf(server) : emptyForm()));
  const [isTried, setIsTried] = useState(false);
  const templates = useQuery(templatesQuery).data?.items ?? [];
  const template = templates.find((each) => each.template_id === form.templateId);
  const found = problemsOf(form, template, server);
  const problems = isTried ? found : {};
  const save = useMutation({
    mutationFn: () =>
      server
        ? changeServer(userId, server.name, updateBody(form, server))
        : addServer(userId, createBody(form)),
    onSuccess: (saved) => {
      void refreshMcp();
      onSaved(saved);
    },
  });
  const change = (changes: Partial<ServerForm>) => {
    setForm((now) => ({ ...now, ...changes }));
    if (save.isError) save.reset();
  };
  const submit = (event: SubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    setIsTried(true);
    if (Object.keys(found).length === 0) save.mutate();
    else focusFirstProblem(event.currentTarget);
  };
  return (
    <Dialog
      isOpen
      isSticky
      onClose={onClose}
      title={server ? t("editTitle", { name: server.name }) : t("addTitle")}
      description={t("nextChat")}
      footer={
        <>
          <Button onClick={onClose}>{common("cancel")}</Button>
          <Button variant="primary" type="submit" form={formId} isBusy={save.isPending}>
            {server ? common("save") : t("addSave")}
          </Button>
        </>
      }
    >
      <form id={formId} onSubmit={submit} noValidate className="grid gap-4 pb-2">
        {!server && (
          <Field
            label={t("name")}
            hint={t("nameHint")}
            error={problems.name && t(`problems.${problems.name}`)}
          >
            {(control) => (
              <Input
                {...control}
                autoComplete="off"
                spellCheck={false}
                value={form.name}
                onChange={(event) => change({ name: event.target.value })}
              />
            )}
          </Field>
        )}
        <ConnectionFields
          ways={["url", "command", "template"]}
          form={form}
          problems={problems}
          onChange={change}
          templates={templates}
          known={server}
        />
        <details open={problems.timeout !== undefined || problems.callTimeout !== undefined}>
          <summary className="text-sm font-medium">{t("more")}</summary>
          <div className="grid gap-4 pt-3">
            <TimeFields form={form} problems={problems} onChange={change} />
            <Checkbox
              label={t("enabled")}
              checked={!form.disabled}
              onChange={(event) => change({ disabled: !event.target.checked })}
            />
          </div>
        </details>
        {save.error !== null && <Refusal error={save.error} />}
      </form>
    </Dialog>
  );
}
