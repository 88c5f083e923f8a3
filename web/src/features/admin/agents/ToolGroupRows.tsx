/** One group of tools: all of it at once, or one by one. */

import { useTranslation } from "react-i18next";

import type { ToolGroup } from "./toolGroups";

interface ToolGroupRowsProps {
  group: ToolGroup;
  chosen: ReadonlySet<string>;
  onPut: (keys: string[], isChosen: boolean) => void;
}

export function ToolGroupRows({ group, chosen, onPut }: ToolGroupRowsProps) {
  const { t } = useTranslation("mcpAdmin");
  const keys = group.tools.map((tool) => tool.key);
  const count = keys.filter((key) => chosen.has(key)).length;
  const name = group.server ?? t("picker.builtin");
  return (
    <div role="group" aria-label={name} className="border-b border-line last:border-0">
      <label className="sticky top-0 flex items-center gap-2 bg-sunken px-3 py-1.5 text-xs font-medium">
        <input
          type="checkbox"
          className="size-4 accent-accent"
          aria-label={t("picker.allOf", { name })}
          checked={count === keys.length}
          ref={(box) => {
            if (box) box.indeterminate = count > 0 && count < keys.length;
          }}
          onChange={(event) => onPut(keys, event.target.checked)}
        />
        <span className="min-w-0 flex-1 truncate">{name}</span>
        <span className="text-muted">
          {count}/{keys.length}
        </span>
      </label>
      {group.tools.map((tool) => (
        <label
          key={tool.key}
          className="flex cursor-pointer items-start gap-2 px-3 py-1.5 text-sm hover:bg-sunken"
        >
          <input
            type="checkbox"
            className="mt-1 size-4 shrink-0 accent-accent"
            aria-label={tool.name}
            checked={chosen.has(tool.key)}
            onChange={(event) => onPut([tool.key], event.target.checked)}
          />
          <span className="min-w-0">
            <code className="font-mono text-[13px] [overflow-wrap:anywhere]">{tool.name}</code>
            <span className="line-clamp-2 text-xs text-muted [overflow-wrap:anywhere]">
              {tool.description}
            </span>
          </span>
        </label>
      ))}
    </div>
  );
}
