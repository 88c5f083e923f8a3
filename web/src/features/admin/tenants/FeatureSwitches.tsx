/** What a tenant's users may use: MCP as a whole, each agent, each tool. */

import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";

import { Checkbox } from "@/components/ui/Checkbox";

import { Loaded } from "../parts/Loaded";
import { switchesOf, turned } from "./form";
import { switchNamesQuery } from "./queries";

interface FeatureSwitchesProps {
  off: readonly string[];
  onChange: (off: string[]) => void;
}

export function FeatureSwitches({ off, onChange }: FeatureSwitchesProps) {
  const { t } = useTranslation("admin");
  const names = useQuery(switchNamesQuery);
  const box = (feature: string, label: string) => (
    <Checkbox
      key={feature}
      label={<span className="[overflow-wrap:anywhere]">{label}</span>}
      checked={!off.includes(feature)}
      onChange={(event) => onChange(turned(off, feature, event.target.checked))}
    />
  );
  const group = (kind: "tool" | "agent", existing: string[]) => (
    <fieldset className="grid gap-x-3 gap-y-1.5 sm:grid-cols-2">
      <legend className="mb-1 text-xs text-muted">{t(`tenants.switches.${kind}`)}</legend>
      {switchesOf(kind, existing, off).map((each) => box(each, each.slice(kind.length + 1)))}
    </fieldset>
  );
  return (
    <fieldset className="grid gap-3">
      <legend className="mb-2 text-sm font-medium">{t("tenants.switches.title")}</legend>
      <p className="text-xs text-muted">{t("tenants.switches.hint")}</p>
      {box("mcp", t("tenants.switches.mcp"))}
      <Loaded query={names} lines={3}>
        {({ tools, agents }) => (
          <>
            {group("agent", agents)}
            {group("tool", tools)}
          </>
        )}
      </Loaded>
    </fieldset>
  );
}
