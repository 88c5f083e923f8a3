/** The dialogs of one's own servers: add, change, sign in, delete. */

import { useMutation, useQuery } from "@tanstack/react-query";
import { useId, useState, type SubmitEvent } from "react";
import { useTranslation } from "react-i18next";

import { Banner } from "@/components/ui/Banner";
import { Button } from "@/components/ui/Button";
import { ConfirmDialog, Dialog, FormDialog } from "@/components/ui/Dialog";
import { Checkbox } from "@/components/ui/Field";
import { toast } from "@/components/ui/toast";
import { useErrorText } from "@/lib/errorText";

import { focusFirstProblem } from "../../components/ui/Dialog";
import {
  addServer,
  changeServer,
  deleteServer,
  refreshMcp,
  setCredentials,
  templatesQuery,
  testServer,
  type UserServer,
} from "./queries";
import { Refusal } from "./Refusal";
import { SecretRows } from "./SecretRows";
import { mapOf, newRow, rowProblems, type SecretRow } from "./secrets";
import { ConnectionFields, NameField, TimeFields } from "./ServerFields";
import {
  createBody,
  emptyForm,
  formOf,
  problemsOf,
  updateBody,
  type ServerForm,
} from "./serverForm";
import { useTrials, type Trials } from "./useTrials";

/** The dialog that is open on the page, if any. */
export function ServerDialogs({ userId, actions }: { userId: string; actions: ServerActions }) {
  const { t } = useTranslation("mcp");
  const { t: common } = useTranslation();
  const { opened } = actions;
  const close = () => actions.open(null);
  switch (opened?.dialog) {
    case undefined:
      return null;
    case "add":
    case "edit":
      return (
        <ServerDialog
          userId={userId}
          server={opened.dialog === "edit" ? opened.server : null}
          onClose={close}
          onSaved={(saved) => {
            close();
            if (!saved.disabled) actions.test(saved.name);
          }}
        />
      );
    case "credentials":
      return (
        <CredentialsDialog
          userId={userId}
          server={opened.server}
          onClose={close}
          onSaved={() => {
            close();
            actions.test(opened.server.name);
          }}
        />
      );
    case "delete":
      return (
        <ConfirmDialog
          isOpen
          title={t("deleteTitle", { name: opened.server.name })}
          text={t("deleteText")}
          confirm={common("delete")}
          isBusy={actions.isRemoving}
          onConfirm={() => actions.remove(opened.server)}
          onClose={close}
        />
      );
  }
}

interface ServerDialogProps {
  userId: string;
  /** The server to change; null adds one. */
  server: UserServer | null;
  onClose: () => void;
  onSaved: (server: UserServer) => void;
}

/** The form of one of the user's own servers. Mount it to open it. */
function ServerDialog({ userId, server, onClose, onSaved }: ServerDialogProps) {
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

interface CredentialsDialogProps {
  userId: string;
  server: UserServer;
  onClose: () => void;
  onSaved: () => void;
}

/** The user's own login for a shared server. Only they can enter it. */
function CredentialsDialog({ userId, server, onClose, onSaved }: CredentialsDialogProps) {
  const { t } = useTranslation("mcp");
  const { t: common } = useTranslation();
  const formId = useId();
  const isProgram = server.transport === "stdio";
  const [rows, setRows] = useState<SecretRow[]>(() => [newRow(isProgram ? "" : "Authorization")]);
  const [isTried, setIsTried] = useState(false);
  const save = useMutation({
    mutationFn: (values: Record<string, string>) =>
      setCredentials(userId, server.name, isProgram ? { env: values } : { headers: values }),
    onSuccess: (_, values) => {
      const isForgotten = Object.keys(values).length === 0;
      toast(isForgotten ? t("credentialsForgotten") : common("saved"));
      void refreshMcp();
      if (isForgotten) onClose();
      else onSaved();
    },
  });
  const values = mapOf(rows);
  const isEmpty = Object.keys(values).length === 0;
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    setIsTried(true);
    if (!isEmpty && rowProblems(rows).size === 0) save.mutate(values);
  };
  return (
    <Dialog
      isOpen
      isSticky
      onClose={onClose}
      title={t("credentialsTitle", { name: server.name })}
      description={t("credentialsText")}
      footer={
        <>
          {server.has_credentials && (
            <Button
              variant="danger"
              className="mr-auto"
              disabled={save.isPending}
              onClick={() => save.mutate({})}
            >
              {t("forgetCredentials")}
            </Button>
          )}
          <Button onClick={onClose}>{common("cancel")}</Button>
          <Button variant="primary" type="submit" form={formId} isBusy={save.isPending}>
            {common("save")}
          </Button>
        </>
      }
    >
      <form id={formId} onSubmit={submit} noValidate className="grid gap-4 pb-2">
        {server.has_credentials && <Banner>{t("credentialsKept")}</Banner>}
        <SecretRows
          rows={rows}
          onChange={setRows}
          legend={isProgram ? t("env") : t("headers")}
          hint={isProgram ? "" : t("headersHint")}
          nameLabel={isProgram ? t("envName") : t("headerName")}
          add={isProgram ? t("addEnv") : t("addHeader")}
          areProblemsShown={isTried}
        />
        {isTried && isEmpty && (
          <p role="alert" className="text-sm text-danger">
            {t("credentialsNeeded")}
          </p>
        )}
        {save.error !== null && <Refusal error={save.error} />}
      </form>
    </Dialog>
  );
}

type Opened = { dialog: "add" } | { dialog: "edit" | "delete" | "credentials"; server: UserServer };

export interface ServerActions {
  opened: Opened | null;
  open: (opened: Opened | null) => void;
  trials: Trials;
  test: (name: string) => void;
  toggle: (server: UserServer) => void;
  remove: (server: UserServer) => void;
  isRemoving: boolean;
}

/** What the page does with the user's servers: which dialog is open, tests, switching, deleting. */
export function useServerActions(userId: string): ServerActions {
  const { t } = useTranslation("mcp");
  const errorText = useErrorText();
  const [opened, open] = useState<Opened | null>(null);
  const trials = useTrials();
  const failed = (error: unknown) => toast(errorText(error), { tone: "danger" });
  const toggling = useMutation({
    mutationFn: (server: UserServer) =>
      changeServer(userId, server.name, { disabled: !server.disabled }),
    onSuccess: (server) => trials.forget(server.name),
    onError: failed,
    onSettled: refreshMcp,
  });
  const removing = useMutation({
    mutationFn: (server: UserServer) => deleteServer(userId, server.name),
    onSuccess: (_, server) => {
      trials.forget(server.name);
      toast(t("deleted", { name: server.name }));
      open(null);
    },
    onError: failed,
    onSettled: refreshMcp,
  });
  return {
    opened,
    open,
    trials,
    test: (name) => trials.run(name, () => testServer(userId, name)),
    toggle: (server) => toggling.mutate(server),
    remove: (server) => removing.mutate(server),
    isRemoving: removing.isPending,
  };
}
