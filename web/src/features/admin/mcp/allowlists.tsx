/** Which shared MCP tools an agent may use, and what an API key is limited to. */

import { queryOptions, useQuery } from "@tanstack/react-query";
import { ListChecks, LockKeyhole, LockKeyholeOpen, Wrench, type LucideIcon } from "lucide-react";
import { useId, useState } from "react";
import { useTranslation } from "react-i18next";

import { api, call } from "@/api/client";
import { Badge } from "@/components/ui/Badge";
import { Banner } from "@/components/ui/Banner";
import { Button } from "@/components/ui/Button";
import { EmptyState } from "@/components/ui/States";
import { WayChoice } from "@/features/mcp/ServerFields";
import { classes } from "@/lib/classes";

import { AgentProblemBanner } from "../agents/agents";
import { groupsOf, ToolPicker } from "../agents/toolPicker";
import { useChange } from "../kit/change";
import { choice, Fields, user } from "../kit/form";
import { Section } from "../kit/list";
import { Loaded } from "../kit/load";
import { allAgentsQuery, registryQuery, userKeysQuery } from "../queries";
import { choicesOf, chosenOf, isSame, toolsOf, type Chosen } from "./allowlist";
import { MCP_KEYS, mcpToolsQuery, type McpTool } from "./queries";
import type { SharedServer } from "./sharedForm";

type Subject = { agent_id: string } | { api_key_id: string };

const allowlistQuery = (subject: Subject) =>
  queryOptions({
    queryKey: ["mcp", "allowlist", subject],
    queryFn: () => call(api.GET("/api/v1/mcp/allowlists", { params: { query: subject } })),
  });

const KINDS = ["agent", "key"] as const;
const NOTHING_CHOSEN = { agentId: "", userId: "", keyId: "" };

export function AllowlistsSection() {
  const { t } = useTranslation("mcpAdmin");
  const [kind, setKind] = useState<(typeof KINDS)[number]>("agent");
  const [form, setForm] = useState(NOTHING_CHOSEN);
  const { userId } = form;
  const agents = (useQuery(allAgentsQuery).data?.items ?? []).map((each) => ({
    value: each.id,
    label: each.name,
  }));
  const keys = useQuery({ ...userKeysQuery(userId), enabled: userId !== "" }).data?.items.map(
    (key) => ({ value: key.id, label: `${key.name} (${key.prefix}…)` }),
  );
  const id = kind === "agent" ? form.agentId : form.keyId;
  const change = (changes: Partial<typeof form>) =>
    setForm({ ...form, ...(changes.userId !== undefined && { keyId: "" }), ...changes });
  const empty = t("allow.choose");
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
          <div className="w-full sm:w-64">
            <Fields
              form={form}
              change={change}
              fields={[choice("agentId", t("allow.agent"), agents, { empty })]}
            />
          </div>
        ) : (
          <div className="grid w-full gap-x-6 gap-y-3 sm:w-[29.5rem] sm:grid-cols-2">
            <Fields
              form={form}
              change={change}
              fields={[
                user("userId", t("allow.user"), empty),
                choice("keyId", t("allow.key"), keys ?? [], {
                  hint: keys?.length === 0 ? t("allow.noKeys") : undefined,
                  empty,
                  disabled: keys === undefined || keys.length === 0,
                }),
              ]}
            />
          </div>
        )}
      </div>
      {id === "" ? (
        <EmptyState icon={ListChecks} title={t("allow.chooseFirst")} />
      ) : (
        <Allowlist
          key={`${kind} ${id}`}
          subject={kind === "agent" ? { agent_id: id } : { api_key_id: id }}
        />
      )}
    </Section>
  );
}

/** The list of one agent or key. */
function Allowlist({ subject }: { subject: Subject }) {
  const stored = useQuery(allowlistQuery(subject));
  const catalogue = useQuery(mcpToolsQuery({}));
  const servers = useQuery(registryQuery);
  return (
    <Loaded query={servers}>
      {({ items }) => (
        <Loaded query={catalogue}>
          {({ items: tools }) => (
            <Loaded query={stored}>
              {(list) => (
                <AllowlistEditor
                  subject={subject}
                  stored={chosenOf(list.tools)}
                  tools={tools}
                  servers={items}
                />
              )}
            </Loaded>
          )}
        </Loaded>
      )}
    </Loaded>
  );
}

interface AllowlistEditorProps {
  subject: Subject;
  stored: Chosen;
  tools: McpTool[];
  servers: SharedServer[];
}

/** The list is changed and saved as a whole. */
function AllowlistEditor({ subject, stored, tools, servers }: AllowlistEditorProps) {
  const { t } = useTranslation("mcpAdmin");
  const { t: common } = useTranslation();
  /** Undefined: as it is stored. */
  const [edited, setEdited] = useState<Chosen | undefined>(undefined);
  const chosen = edited === undefined ? stored : edited;
  const isChanged = !isSame(chosen, stored);
  const isKey = "api_key_id" in subject;
  const shared = servers.filter((server) => server.scope !== "user");
  const names = new Map(shared.map((server) => [server.server_id, server.name]));
  const choices = choicesOf(tools, new Set(names.keys()), stored);
  const save = useChange(
    () => {
      const body = { ...subject, tools: toolsOf(chosen, tools) };
      return call(api.PUT("/api/v1/mcp/allowlists", { body }));
    },
    { keys: MCP_KEYS, done: t("allow.saved"), onDone: () => setEdited(undefined) },
  );
  if (choices.length === 0 && !isKey)
    return <EmptyState icon={Wrench} title={t("allow.noTools")} text={t("allow.noToolsText")} />;
  return (
    <div className="grid gap-4 rounded-xl border border-line bg-raised p-4">
      {isKey && <KeyLimit chosen={chosen} onChange={setEdited} />}
      {chosen !== null && (
        <>
          {chosen.size === 0 && (
            <Banner kind="warn">{isKey ? t("allow.nothingKey") : t("allow.nothingAgent")}</Banner>
          )}
          <ToolPicker groups={groupsOf(choices, names)} chosen={chosen} onChange={setEdited} />
        </>
      )}
      <AgentProblemBanner error={save.error} />
      <div className="flex flex-wrap items-center justify-end gap-2">
        {isChanged && <Badge tone="warn">{t("allow.unsaved")}</Badge>}
        <Button disabled={!isChanged} onClick={() => setEdited(undefined)}>
          {t("allow.discard")}
        </Button>
        <Button
          variant="primary"
          disabled={!isChanged}
          isBusy={save.isPending}
          onClick={() => save.mutate(undefined)}
        >
          {common("save")}
        </Button>
      </div>
    </div>
  );
}

interface KeyLimitProps {
  chosen: Chosen;
  onChange: (chosen: Chosen) => void;
}

/** Two big choices, so that "no limit" and "nothing" are not mistaken for one another. */
function KeyLimit({ chosen, onChange }: KeyLimitProps) {
  const { t } = useTranslation("mcpAdmin");
  const group = useId();
  return (
    <fieldset>
      <legend className="mb-1.5 text-sm font-medium">{t("allow.limit")}</legend>
      <div className="grid gap-2 sm:grid-cols-2">
        <LimitChoice
          group={group}
          icon={LockKeyholeOpen}
          title={t("allow.unlimited")}
          text={t("allow.unlimitedText")}
          isChosen={chosen === null}
          onChoose={() => onChange(null)}
        />
        <LimitChoice
          group={group}
          icon={LockKeyhole}
          title={t("allow.limited")}
          text={t("allow.limitedText")}
          isChosen={chosen !== null}
          onChoose={() => onChange(chosen ?? new Set())}
        />
      </div>
    </fieldset>
  );
}

interface LimitChoiceProps {
  group: string;
  icon: LucideIcon;
  title: string;
  text: string;
  isChosen: boolean;
  onChoose: () => void;
}

function LimitChoice({ group, icon: Icon, title, text, isChosen, onChoose }: LimitChoiceProps) {
  const id = useId();
  return (
    <label
      className={classes(
        "flex cursor-pointer items-start gap-3 rounded-lg border p-3 has-focus-visible:outline-2 has-focus-visible:outline-accent",
        isChosen ? "border-accent bg-accent-soft" : "border-line hover:bg-sunken",
      )}
    >
      <input
        type="radio"
        name={group}
        className="mt-1 size-4 accent-accent"
        aria-label={title}
        aria-describedby={id}
        checked={isChosen}
        onChange={onChoose}
      />
      <span className="min-w-0 flex-1">
        <span className="block text-sm font-medium">{title}</span>
        <span id={id} className="block text-xs text-muted">
          {text}
        </span>
      </span>
      <Icon className="size-4 text-muted" aria-hidden />
    </label>
  );
}
