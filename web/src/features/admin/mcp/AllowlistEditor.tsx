/** The list of one agent or key: loaded, changed, saved as a whole. */

import { useQuery } from "@tanstack/react-query";
import { Wrench } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";

import { Badge } from "@/components/ui/Badge";
import { Banner } from "@/components/ui/Banner";
import { Button } from "@/components/ui/Button";
import { EmptyState } from "@/components/ui/States";

import { AgentProblem } from "../agents/AgentDialog";
import { groupsOf } from "../agents/toolGroups";
import { ToolPicker } from "../agents/ToolPicker";
import { useChange } from "../parts/change";
import { Loaded } from "../parts/Loaded";
import { choicesOf, chosenOf, isSame, toolsOf, type Chosen } from "./allowlist";
import { KeyLimit } from "./KeyLimit";
import {
  allowlistQuery,
  catalogueQuery,
  MCP_KEYS,
  registry,
  registryQuery,
  type McpTool,
  type Subject,
} from "./queries";
import type { SharedServer } from "./sharedForm";

export function AllowlistEditor({ subject }: { subject: Subject }) {
  const stored = useQuery(allowlistQuery(subject));
  const catalogue = useQuery(catalogueQuery({}));
  const servers = useQuery(registryQuery);
  return (
    <Loaded query={servers}>
      {({ items }) => (
        <Loaded query={catalogue}>
          {({ items: tools }) => (
            <Loaded query={stored}>
              {(list) => (
                <Editor
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

interface EditorProps {
  subject: Subject;
  stored: Chosen;
  tools: McpTool[];
  servers: SharedServer[];
}

function Editor({ subject, stored, tools, servers }: EditorProps) {
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
  const save = useChange(() => registry.allow(subject, toolsOf(chosen, tools)), {
    keys: MCP_KEYS,
    done: t("allow.saved"),
    onDone: () => setEdited(undefined),
  });
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
      <AgentProblem error={save.error} />
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
