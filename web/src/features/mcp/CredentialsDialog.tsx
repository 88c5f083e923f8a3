/** The user's own login for a shared server. Only they can enter it. */

import { useMutation } from "@tanstack/react-query";
import { useId, useState, type SubmitEvent } from "react";
import { useTranslation } from "react-i18next";

import { Banner } from "@/components/ui/Banner";
import { Button } from "@/components/ui/Button";
import { Dialog } from "@/components/ui/Dialog";
import { toast } from "@/components/ui/toast";

import { refreshMcp, setCredentials, type UserServer } from "./queries";
import { Refusal } from "./Refusal";
import { SecretRows } from "./SecretRows";
import { mapOf, newRow, rowProblems, type SecretRow } from "./secrets";

interface CredentialsDialogProps {
  userId: string;
  server: UserServer;
  onClose: () => void;
  onSaved: () => void;
}

export function CredentialsDialog({ userId, server, onClose, onSaved }: CredentialsDialogProps) {
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
