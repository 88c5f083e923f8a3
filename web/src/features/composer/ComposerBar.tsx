/** Below the question: who answers, and the buttons to attach and to send. */

import { useQuery } from "@tanstack/react-query";
import { ArrowUp, Paperclip, Square } from "lucide-react";
import { useRef } from "react";
import { useTranslation } from "react-i18next";

import { agentsQuery } from "@/api/queries";
import { AgentIcon } from "@/components/AgentIcon";
import { IconButton } from "@/components/ui/Button";
import { Tooltip } from "@/components/ui/Tooltip";
import { agentWords } from "@/lib/agentWords";
import { classes } from "@/lib/classes";
import { formatBytes } from "@/lib/format";

import type { Composing } from "./useComposer";

interface ComposerBarProps {
  composing: Composing;
  onStop: (() => void) | null;
}

/** Under the text: attach, who answers, send or stop. */
export function ComposerBar({ composing, onStop }: ComposerBarProps) {
  const { t } = useTranslation("chat");
  const { draft, change, maxBytes, attach, obstacle, send } = composing;
  const picker = useRef<HTMLInputElement>(null);
  const label =
    maxBytes === undefined
      ? t("composer.attach")
      : t("composer.attachLimit", { size: formatBytes(maxBytes) });
  return (
    <div className="flex items-center gap-1 px-2 pb-2">
      <input
        ref={picker}
        type="file"
        multiple
        hidden
        aria-label={t("composer.attach")}
        onChange={(event) => {
          if (event.target.files) attach(Array.from(event.target.files));
          event.target.value = ""; // the same file again is a choice, too
        }}
      />
      <IconButton icon={Paperclip} label={label} onClick={() => picker.current?.click()} />
      <AgentChips chosen={draft.agentId} onChoose={(agentId) => change({ agentId })} />
      {onStop ? (
        <IconButton icon={Square} label={t("composer.stop")} variant="secondary" onClick={onStop} />
      ) : (
        <IconButton
          icon={ArrowUp}
          label={t("composer.send")}
          variant="primary"
          disabled={obstacle !== null}
          onClick={send}
        />
      )}
    </div>
  );
}

interface AgentChipsProps {
  chosen: string | null;
  onChoose: (agentId: string | null) => void;
}

/** Who answers: one of the agents, or whoever fits the question. */
function AgentChips({ chosen, onChoose }: AgentChipsProps) {
  const { t } = useTranslation("chat");
  const agents = useQuery(agentsQuery).data?.items ?? [];
  const isKnown = agents.some((agent) => agent.id === chosen);
  const choices = [
    {
      id: null,
      icon: null,
      name: t("composer.automatic"),
      description: t("composer.automaticHint"),
    },
    ...agents.map((agent) => ({ ...agent, ...agentWords(agent, t) })),
  ];
  return (
    <div
      role="group"
      aria-label={t("composer.agents")}
      className="flex min-w-0 flex-1 gap-1 overflow-x-auto p-1 [scrollbar-width:none]"
    >
      {choices.map((agent) => {
        const isChosen = isKnown ? agent.id === chosen : agent.id === null;
        return (
          <Tooltip key={agent.id ?? "automatic"} text={agent.description}>
            <button
              type="button"
              aria-pressed={isChosen}
              onClick={() => onChoose(agent.id)}
              className={classes(
                "flex h-7 shrink-0 items-center gap-1.5 rounded-full border px-2.5 text-xs whitespace-nowrap",
                isChosen
                  ? "border-accent bg-accent-soft font-medium text-accent"
                  : "border-line text-muted hover:bg-sunken hover:text-text",
              )}
            >
              {agent.icon !== null && <AgentIcon name={agent.icon} className="size-3.5" />}
              {agent.name}
            </button>
          </Tooltip>
        );
      })}
    </div>
  );
}
