/** Where a question is written: text, files, a skill, an agent; sent or stopped. */

import { FileUp } from "lucide-react";
import { memo, useId, useImperativeHandle, useRef, type Ref } from "react";
import { useTranslation } from "react-i18next";

import { toast } from "@/components/ui/toast";
import type { Question } from "@/events/state";

import { ChipRow } from "./ChipRow";
import { ComposerBar } from "./ComposerBar";
import { ComposerInput } from "./ComposerInput";
import { draftOf, isEmpty } from "./drafts";
import { useComposer } from "./useComposer";
import { useFileDrop } from "./useFileDrop";

export interface ComposerHandle {
  /** Put a question into the input, to change it and ask again. */
  edit: (question: Question) => void;
}

interface ComposerProps {
  /** Whose draft it is: a conversation's id, or `newDraftId`. */
  conversationId: string;
  onSend: (question: Question) => void;
  /** A message is under way: type, but do not send. */
  isBusy?: boolean;
  /** Stops the answer; null when nothing runs. */
  onStop?: (() => void) | null;
  ref?: Ref<ComposerHandle>;
}

/** Memoised: an answer that grows does not concern it, if its functions stay the same. */
export const Composer = memo(function Composer(props: ComposerProps) {
  const { conversationId, onSend, isBusy = false, onStop = null, ref } = props;
  const { t } = useTranslation("chat");
  const { t: common } = useTranslation();
  const area = useRef<HTMLTextAreaElement>(null);
  const hintId = useId();
  const composing = useComposer(conversationId, isBusy, onSend);
  const isDropping = useFileDrop(composing.attach);
  const { draft, change, obstacle } = composing;

  useImperativeHandle(ref, () => ({
    edit: (question) => {
      change(draftOf(question));
      area.current?.focus();
      if (isEmpty(draft)) return;
      toast(t("composer.replaced"), {
        action: { label: common("undo"), run: () => change(draft) },
      });
    },
  }));

  const hints = {
    busy: onStop ? "composer.busy" : "composer.waiting",
    uploading: "composer.uploading",
  } as const;
  const hint = obstacle === "busy" || obstacle === "uploading" ? hints[obstacle] : null;
  return (
    <div className="relative">
      {isDropping && (
        <div className="pointer-events-none absolute inset-0 z-10 flex items-center justify-center gap-2 rounded-2xl border-2 border-dashed border-accent bg-accent-soft text-sm font-medium text-accent">
          <FileUp className="size-4" aria-hidden />
          {t("composer.drop")}
        </div>
      )}
      <div className="rounded-2xl border border-line-strong bg-raised shadow-float focus-within:border-accent">
        <ChipRow composing={composing} />
        <ComposerInput
          area={area}
          composing={composing}
          isAutoFocused={window.matchMedia("(hover: hover)").matches}
          describedBy={hintId}
          onStop={onStop}
        />
        <ComposerBar composing={composing} onStop={onStop} />
      </div>
      <p
        id={hintId}
        className={`px-2 pt-1.5 text-center text-xs text-muted ${hint ? "" : "max-md:hidden"}`}
      >
        {t(hint ?? "composer.keys")}
      </p>
    </div>
  );
});
