/** Under the text: attach, who answers, send or stop. */

import { ArrowUp, Paperclip, Square } from "lucide-react";
import { useRef } from "react";
import { useTranslation } from "react-i18next";

import { IconButton } from "@/components/ui/Button";
import { formatBytes } from "@/lib/format";

import { AgentChips } from "./AgentChips";
import type { Composing } from "./useComposer";

interface ComposerBarProps {
  composing: Composing;
  onStop: (() => void) | null;
}

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
