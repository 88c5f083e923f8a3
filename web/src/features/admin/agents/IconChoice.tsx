/** One of the icons an agent can have. */

import { useId } from "react";
import { useTranslation } from "react-i18next";

import { AGENT_ICONS, type AgentIconName } from "@/components/AgentIcon";
import { Tooltip } from "@/components/ui/Tooltip";
import { classes } from "@/lib/classes";

const NAMES = Object.keys(AGENT_ICONS) as AgentIconName[]; // the keys of a constant

interface IconChoiceProps {
  value: string;
  onChange: (name: AgentIconName) => void;
}

export function IconChoice({ value, onChange }: IconChoiceProps) {
  const { t } = useTranslation("mcpAdmin");
  const group = useId();
  return (
    <fieldset>
      <legend className="mb-1.5 text-sm font-medium">{t("agents.fields.icon")}</legend>
      <div className="flex flex-wrap gap-1">
        {NAMES.map((name) => {
          const Icon = AGENT_ICONS[name];
          return (
            <Tooltip key={name} text={t(`agents.icons.${name}`)}>
              <label
                className={classes(
                  "grid size-9 cursor-pointer place-items-center rounded-lg border has-focus-visible:outline-2 has-focus-visible:outline-accent",
                  name === value
                    ? "border-accent bg-accent-soft text-accent"
                    : "border-line text-muted hover:bg-sunken",
                )}
              >
                <input
                  type="radio"
                  className="sr-only"
                  name={group}
                  aria-label={t(`agents.icons.${name}`)}
                  checked={name === value}
                  onChange={() => onChange(name)}
                />
                <Icon className="size-4" aria-hidden />
              </label>
            </Tooltip>
          );
        })}
      </div>
    </fieldset>
  );
}
