/** The form of an agent. Mount it to open it. */

import { useState } from "react";
import { useTranslation } from "react-i18next";

import { ApiError, type Schemas } from "@/api/client";
import { Banner } from "@/components/ui/Banner";
import { FormDialog } from "@/components/ui/FormDialog";
import { toast } from "@/components/ui/toast";
import { focusFirstProblem } from "@/features/mcp/focusProblem";

import { useChange } from "../parts/change";
import { Problem } from "../parts/Problem";
import { AgentFields } from "./AgentFields";
import {
  agentFormOf,
  agentProblemsOf,
  createAgentBody,
  emptyAgentForm,
  updateAgentBody,
  type Agent,
  type AgentForm,
} from "./agentForm";
import { AgentTools } from "./AgentTools";
import { AGENT_KEYS, agentStore } from "./queries";

interface AgentDialogProps {
  /** The agent to change; null makes one. */
  agent: Agent | null;
  onClose: () => void;
}

export function AgentDialog({ agent, onClose }: AgentDialogProps) {
  const { t } = useTranslation("mcpAdmin");
  const [form, setForm] = useState<AgentForm>(() =>
    agent ? agentFormOf(agent) : emptyAgentForm(),
  );
  const [isTried, setIsTried] = useState(false);
  const found = agentProblemsOf(form);
  const change = (changes: Partial<AgentForm>) => setForm((now) => ({ ...now, ...changes }));
  const tell = (saved: Schemas["AgentChanged"]) => {
    const ids = saved.ignoredToolIds;
    if (ids.length === 0) toast(t("agents.saved", { name: saved.name }));
    else toast(t("agents.ignored", { count: ids.length, ids: ids.join(", ") }), { tone: "danger" });
    onClose();
  };
  const save = useChange(
    () =>
      agent
        ? agentStore.update(agent.id, updateAgentBody(form, agent))
        : agentStore.create(createAgentBody(form)),
    { keys: AGENT_KEYS, onDone: tell },
  );
  const submit = (element: HTMLFormElement) => {
    setIsTried(true);
    if (Object.keys(found).length === 0) save.mutate(undefined);
    else focusFirstProblem(element);
  };
  return (
    <FormDialog
      hasOwnChecks
      width="wide"
      title={agent ? t("agents.editTitle", { name: agent.name }) : t("agents.addTitle")}
      isBusy={save.isPending}
      problem={<AgentProblem error={save.error} />}
      onSubmit={submit}
      onClose={onClose}
    >
      <AgentFields
        form={form}
        problems={isTried ? found : {}}
        isNameFixed={agent !== null && agent.kind !== "custom"}
        onChange={change}
      />
      <AgentTools
        canHaveAll={agent?.name === "general"}
        chosen={form.tools}
        onChange={(tools) => change({ tools })}
      />
    </FormDialog>
  );
}

/** A busy agent is no mistake of the user's: it says to wait. */
export function AgentProblem({ error }: { error: unknown }) {
  const { t } = useTranslation("mcpAdmin");
  if (!(error instanceof ApiError && error.code === "agent_busy")) return <Problem error={error} />;
  return (
    <Banner kind="warn">
      <strong className="block font-medium">{t("agents.busy")}</strong>
      {t("agents.busyText")}
    </Banner>
  );
}
