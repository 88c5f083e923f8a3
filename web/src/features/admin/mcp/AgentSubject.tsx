/** Choose the agent whose list it is. */

import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";

import { Field } from "@/components/ui/Field";
import { Select } from "@/components/ui/Input";

import { allAgentsQuery } from "../agents/queries";

interface AgentSubjectProps {
  agentId: string;
  onChange: (agentId: string) => void;
}

export function AgentSubject({ agentId, onChange }: AgentSubjectProps) {
  const { t } = useTranslation("mcpAdmin");
  const agents = useQuery(allAgentsQuery).data?.items ?? [];
  return (
    <div className="w-full sm:w-64">
      <Field label={t("allow.agent")}>
        {(control) => (
          <Select {...control} value={agentId} onChange={(event) => onChange(event.target.value)}>
            <option value="">{t("allow.choose")}</option>
            {agents.map((agent) => (
              <option key={agent.id} value={agent.id}>
                {agent.name}
              </option>
            ))}
          </Select>
        )}
      </Field>
    </div>
  );
}
