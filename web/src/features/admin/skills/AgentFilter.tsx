/** With which agent: some have skills of their own. */

import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";

import { Field } from "@/components/ui/Field";
import { Select } from "@/components/ui/Input";

import { allAgentsQuery } from "../agents/queries";

const USUAL = "general";

interface AgentFilterProps {
  value: string;
  onChange: (agent: string) => void;
}

export function AgentFilter({ value, onChange }: AgentFilterProps) {
  const { t } = useTranslation("mcpAdmin");
  const agents = useQuery(allAgentsQuery).data?.items ?? [];
  return (
    <div className="w-full sm:w-64">
      <Field label={t("skills.agent")}>
        {(control) => (
          <Select {...control} value={value} onChange={(event) => onChange(event.target.value)}>
            <option value="">{USUAL}</option>
            {agents
              .filter((agent) => agent.name !== USUAL)
              .map((agent) => (
                <option key={agent.id} value={agent.name}>
                  {agent.name}
                </option>
              ))}
          </Select>
        )}
      </Field>
    </div>
  );
}
