/** Agents: built in, from packages, and made here. */

import { useQuery } from "@tanstack/react-query";
import { Bot, Plus } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";

import { Button } from "@/components/ui/Button";
import { EmptyState } from "@/components/ui/States";

import { Loaded } from "../parts/Loaded";
import { Section } from "../parts/Section";
import { AgentAsk } from "./AgentAsk";
import { AgentDialog } from "./AgentDialog";
import type { Agent } from "./agentForm";
import { AgentTable } from "./AgentTable";
import { allAgentsQuery } from "./queries";

type Opened =
  { dialog: "edit"; agent: Agent | null } | { dialog: "reset" | "delete"; agent: Agent };

export function AgentsSection() {
  const { t } = useTranslation("mcpAdmin");
  const agents = useQuery(allAgentsQuery);
  const [opened, setOpened] = useState<Opened | null>(null);
  const close = () => setOpened(null);
  return (
    <Section
      title={t("agents.title")}
      text={t("agents.text")}
      actions={
        <Button variant="primary" onClick={() => setOpened({ dialog: "edit", agent: null })}>
          <Plus className="size-4" aria-hidden />
          {t("agents.add")}
        </Button>
      }
    >
      <Loaded query={agents}>
        {({ items }) =>
          items.length === 0 ? (
            <EmptyState icon={Bot} title={t("agents.none")} />
          ) : (
            <AgentTable agents={items} onOpen={(dialog, agent) => setOpened({ dialog, agent })} />
          )
        }
      </Loaded>
      {opened?.dialog === "edit" && <AgentDialog agent={opened.agent} onClose={close} />}
      {(opened?.dialog === "delete" || opened?.dialog === "reset") && (
        <AgentAsk what={opened.dialog} agent={opened.agent} onClose={close} />
      )}
    </Section>
  );
}
