/** A choice of tools: by search, whole groups, or one by one. */

import { queryOptions, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";

import { api, call } from "@/api/client";
import { Button } from "@/components/ui/Button";
import { Input } from "@/components/ui/Field";

import { Loaded } from "../kit/load";
import { AGENTS, registryQuery } from "../queries";

const toolsQuery = queryOptions({
  queryKey: [...AGENTS, "tools"],
  queryFn: () => call(api.GET("/api/v1/tools")),
});

interface AgentToolsProps {
  /** The general agent may have all tools, also those to come. */
  canHaveAll: boolean;
  chosen: ReadonlySet<string>;
  onChange: (chosen: ReadonlySet<string>) => void;
}

/** The tools that can be bound to an agent; users' own MCP tools cannot. */
export function AgentTools({ canHaveAll, chosen, onChange }: AgentToolsProps) {
  const { t } = useTranslation("mcpAdmin");
  const servers = useQuery(registryQuery).data?.items ?? [];
  const own = new Set(
    servers.filter((each) => each.scope === "user").map((each) => each.server_id),
  );
  const names = new Map(servers.map((each) => [each.server_id, each.name]));
  return (
    <Loaded query={useQuery(toolsQuery)} lines={4}>
      {({ items }) => {
        const choices = items
          .filter((tool) => tool.server_id === null || !own.has(tool.server_id))
          .map(({ id, server_id, ...tool }) => ({
            ...tool,
            key: String(id),
            serverId: server_id,
          }));
        const hasAll = canHaveAll && choices.length > 0 && choices.every((c) => chosen.has(c.key));
        return (
          <div className="grid gap-1">
            <ToolPicker groups={groupsOf(choices, names)} chosen={chosen} onChange={onChange} />
            <p className="text-xs text-muted">
              {hasAll ? t("agents.allHint") : t("agents.toolsHint")}
            </p>
          </div>
        );
      }}
    </Loaded>
  );
}

interface ToolPickerProps {
  groups: ToolGroup[];
  chosen: ReadonlySet<string>;
  onChange: (chosen: ReadonlySet<string>) => void;
}

const keysOf = (group: ToolGroup) => group.tools.map((tool) => tool.key);

export function ToolPicker({ groups, chosen, onChange }: ToolPickerProps) {
  const { t } = useTranslation("mcpAdmin");
  const [wanted, setWanted] = useState("");
  const shown = searched(groups, wanted);
  const keys = groups.flatMap(keysOf);
  const known = new Set(keys);
  const count = [...chosen].filter((key) => known.has(key)).length;
  const shownKeys = shown.flatMap(keysOf);
  const put = (changed: string[], isChosen: boolean) => {
    const next = new Set(chosen);
    for (const key of changed) {
      if (isChosen) next.add(key);
      else next.delete(key);
    }
    onChange(next);
  };
  return (
    <fieldset className="grid gap-2">
      <legend className="mb-1.5 text-sm font-medium">{t("picker.label")}</legend>
      <div className="flex flex-wrap items-center gap-2">
        <Input
          type="search"
          className="min-w-40 flex-1 basis-40"
          aria-label={t("picker.search")}
          placeholder={t("picker.search")}
          value={wanted}
          onChange={(event) => setWanted(event.target.value)}
          onKeyDown={(event) => event.key === "Enter" && event.preventDefault()}
        />
        <Button size="small" onClick={() => put(shownKeys, true)}>
          {t("picker.all")}
        </Button>
        <Button size="small" onClick={() => put(shownKeys, false)}>
          {t("picker.none")}
        </Button>
      </div>
      <div className="max-h-80 overflow-y-auto rounded-lg border border-line">
        {shown.length === 0 && <p className="p-3 text-sm text-muted">{t("picker.nothing")}</p>}
        {shown.map((group) => (
          <ToolGroupRows key={group.id} group={group} chosen={chosen} onPut={put} />
        ))}
      </div>
      <p className="text-xs text-muted" aria-live="polite">
        {t("picker.chosen", { count, total: keys.length })}
      </p>
    </fieldset>
  );
}

interface ToolGroupRowsProps {
  group: ToolGroup;
  chosen: ReadonlySet<string>;
  onPut: (keys: string[], isChosen: boolean) => void;
}

function ToolGroupRows({ group, chosen, onPut }: ToolGroupRowsProps) {
  const { t } = useTranslation("mcpAdmin");
  const keys = keysOf(group);
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

interface ToolChoice {
  key: string;
  name: string;
  description: string;
}

export interface GroupedChoice extends ToolChoice {
  /** Null: built in. */
  serverId: string | null;
}

interface ToolGroup {
  id: string;
  /** The name of the MCP server; null: built in. */
  server: string | null;
  tools: ToolChoice[];
}

/** `serverNames` by id; a server without a known name is called by its id. */
export function groupsOf(
  choices: readonly GroupedChoice[],
  serverNames: ReadonlyMap<string, string>,
): ToolGroup[] {
  const groups = new Map<string, ToolGroup>();
  for (const { serverId, ...choice } of choices) {
    const id = serverId ?? "";
    const server = serverId === null ? null : (serverNames.get(id) ?? id);
    const group = groups.get(id) ?? { id, server, tools: [] };
    group.tools.push(choice);
    groups.set(id, group);
  }
  return [...groups.values()].sort((a, b) => (a.server ?? "").localeCompare(b.server ?? ""));
}

/** The groups with only the tools that have every word of a search. */
export function searched(groups: readonly ToolGroup[], wanted: string): ToolGroup[] {
  const words = wanted.toLowerCase().split(/\s+/).filter(Boolean);
  const fits = (group: ToolGroup, tool: ToolChoice) => {
    const text = `${tool.name} ${tool.description} ${group.server ?? ""}`.toLowerCase();
    return words.every((word) => text.includes(word));
  };
  return groups
    .map((group) => ({ ...group, tools: group.tools.filter((tool) => fits(group, tool)) }))
    .filter((group) => group.tools.length > 0);
}
