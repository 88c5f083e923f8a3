/** Which shared MCP tools an agent may use, and what an API key is limited to. */

import { ListChecks } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";

import { EmptyState } from "@/components/ui/States";
import { WayChoice } from "@/features/mcp/WayChoice";

import { Section } from "../parts/Section";
import { AgentSubject } from "./AgentSubject";
import { AllowlistEditor } from "./AllowlistEditor";
import { KeySubject } from "./KeySubject";

type Kind = "agent" | "key";
const KINDS: Kind[] = ["agent", "key"];

export function AllowlistsSection() {
  const { t } = useTranslation("mcpAdmin");
  const [kind, setKind] = useState<Kind>("agent");
  const [agentId, setAgentId] = useState("");
  const [keyId, setKeyId] = useState("");
  const id = kind === "agent" ? agentId : keyId;
  return (
    <Section title={t("allow.title")} text={t("allow.text")}>
      <div className="flex flex-wrap items-start gap-x-6 gap-y-3 rounded-xl border border-line bg-raised p-4">
        <WayChoice
          legend={t("allow.subject")}
          choices={KINDS.map((value) => ({ value, label: t(`allow.subjects.${value}`) }))}
          value={kind}
          onChange={setKind}
        />
        {kind === "agent" ? (
          <AgentSubject agentId={agentId} onChange={setAgentId} />
        ) : (
          <KeySubject keyId={keyId} onChange={setKeyId} />
        )}
      </div>
      {id === "" ? (
        <EmptyState icon={ListChecks} title={t("allow.chooseFirst")} />
      ) : (
        <AllowlistEditor
          key={`${kind} ${id}`}
          subject={kind === "agent" ? { agent_id: id } : { api_key_id: id }}
        />
      )}
    </Section>
  );
}
