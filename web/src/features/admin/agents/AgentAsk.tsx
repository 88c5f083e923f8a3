/** Ask before an agent is deleted, or all changes to one are taken back. */

import { useTranslation } from "react-i18next";

import { Button } from "@/components/ui/Button";
import { Dialog } from "@/components/ui/Dialog";

import { useChange } from "../parts/change";
import { AgentProblem } from "./AgentDialog";
import { AS_IT_CAME, type Agent } from "./agentForm";
import { AGENT_KEYS, agentStore } from "./queries";

interface AgentAskProps {
  what: "delete" | "reset";
  agent: Agent;
  onClose: () => void;
}

export function AgentAsk({ what, agent, onClose }: AgentAskProps) {
  const { t } = useTranslation("mcpAdmin");
  const { t: common } = useTranslation();
  const { name } = agent;
  const isDelete = what === "delete";
  const run = useChange<undefined, unknown>(
    () => (isDelete ? agentStore.remove(agent.id) : agentStore.update(agent.id, AS_IT_CAME)),
    {
      keys: AGENT_KEYS,
      done: isDelete ? t("agents.deleted", { name }) : t("agents.resetDone", { name }),
      onDone: onClose,
    },
  );
  return (
    <Dialog
      isOpen
      onClose={onClose}
      width="narrow"
      title={isDelete ? t("agents.deleteTitle", { name }) : t("agents.resetTitle", { name })}
      description={isDelete ? t("agents.deleteText") : t("agents.resetText")}
      footer={
        <>
          <Button onClick={onClose}>{common("cancel")}</Button>
          <Button
            variant={isDelete ? "danger" : "primary"}
            isBusy={run.isPending}
            onClick={() => run.mutate(undefined)}
          >
            {isDelete ? common("delete") : t("agents.reset")}
          </Button>
        </>
      }
    >
      <AgentProblem error={run.error} />
    </Dialog>
  );
}
