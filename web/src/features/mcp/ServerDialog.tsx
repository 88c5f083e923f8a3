/** The form of one of the user's own servers. Mount it to open it. */

import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";

import { FormDialog } from "@/components/ui/Dialog";
import { Checkbox } from "@/components/ui/Field";

import { focusFirstProblem } from "../../components/ui/Dialog";
import { ConnectionFields } from "./ConnectionFields";
import { NameField } from "./NameField";
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
  const submit = (element: HTMLFormElement) => {
    setIsTried(true);
    if (Object.keys(found).length === 0) save.mutate();
    else focusFirstProblem(element);
  };
  return (
    <FormDialog
      hasOwnChecks
      title={server ? t("editTitle", { name: server.name }) : t("addTitle")}
      description={t("nextChat")}
      save={server ? common("save") : t("addSave")}
      isBusy={save.isPending}
      problem={save.error !== null && <Refusal error={save.error} />}
      onSubmit={submit}
      onClose={onClose}
    >
      {!server && (
        <NameField name={form.name} problem={problems.name} onChange={(name) => change({ name })} />
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
    </FormDialog>
  );
}
