/** The form of a shared server. Mount it to open it. */

import { useState } from "react";
import { useTranslation } from "react-i18next";

import { FormDialog } from "@/components/ui/FormDialog";
import { ConnectionFields } from "@/features/mcp/ConnectionFields";
import { focusFirstProblem } from "@/features/mcp/focusProblem";
import { NameField } from "@/features/mcp/NameField";
import { Refusal } from "@/features/mcp/Refusal";

import { useChange } from "../parts/change";
import { MCP_KEYS, registry } from "./queries";
import { ScopeFields } from "./ScopeFields";
import { SharedMore } from "./SharedMore";
import {
  createSharedBody,
  emptySharedForm,
  sharedFormOf,
  sharedProblemsOf,
  updateSharedBody,
  type SharedForm,
  type SharedServer,
} from "./sharedForm";

interface SharedServerDialogProps {
  /** The server to change; null registers one. */
  server: SharedServer | null;
  onClose: () => void;
  onSaved: (server: SharedServer) => void;
}

export function SharedServerDialog({ server, onClose, onSaved }: SharedServerDialogProps) {
  const { t } = useTranslation("mcpAdmin");
  const { t: common } = useTranslation();
  const [form, setForm] = useState<SharedForm>(() =>
    server ? sharedFormOf(server) : emptySharedForm(),
  );
  const [isTried, setIsTried] = useState(false);
  const found = sharedProblemsOf(form, server);
  const problems = isTried ? found : {};
  const save = useChange(
    () =>
      server
        ? registry.update(server.server_id, updateSharedBody(form, server))
        : registry.create(createSharedBody(form)),
    { keys: MCP_KEYS, onDone: onSaved },
  );
  const change = (changes: Partial<SharedForm>) => {
    setForm((now) => ({ ...now, ...changes }));
    if (save.isError) save.reset();
  };
  const submit = (element: HTMLFormElement) => {
    setIsTried(true);
    if (Object.keys(found).length === 0) save.mutate(undefined);
    else focusFirstProblem(element);
  };
  return (
    <FormDialog
      hasOwnChecks
      title={server ? t("server.editTitle", { name: server.name }) : t("server.addTitle")}
      save={server ? common("save") : t("server.save")}
      isBusy={save.isPending}
      problem={save.error !== null && <Refusal error={save.error} />}
      onSubmit={submit}
      onClose={onClose}
    >
      {!server && (
        <>
          <NameField
            name={form.name}
            problem={problems.name}
            onChange={(name) => change({ name })}
          />
          <ScopeFields form={form} problems={problems} onChange={change} />
        </>
      )}
      <ConnectionFields
        ways={["url", "command"]}
        form={form}
        problems={problems}
        onChange={change}
        templates={[]}
        known={server}
      />
      <SharedMore form={form} problems={problems} onChange={change} />
    </FormDialog>
  );
}
