/** The text being typed: grows with it, knows Enter, and the list under `/` and `@`. */

import {
  useId,
  useLayoutEffect,
  type ClipboardEvent,
  type KeyboardEvent,
  type RefObject,
} from "react";
import { useTranslation } from "react-i18next";

import { PickList } from "./PickList";
import { replaced } from "./tokens";
import type { Composing } from "./useComposer";
import { usePicker } from "./usePicker";
import type { Suggestion } from "./useSuggestions";

interface ComposerInputProps {
  area: RefObject<HTMLTextAreaElement | null>;
  composing: Composing;
  isAutoFocused: boolean;
  describedBy: string;
  /** null: nothing runs. */
  onStop: (() => void) | null;
}

export function ComposerInput(props: ComposerInputProps) {
  const { area, composing, describedBy, onStop } = props;
  const { draft, change, send, attach } = composing;
  const { t } = useTranslation("chat");
  const picker = usePicker();
  const listId = useId();

  useLayoutEffect(() => {
    if (area.current) fitHeight(area.current);
  }, [area, draft.text]);

  const pick = (suggestion: Suggestion) => {
    if (picker.token === null) return;
    const isSkill = suggestion.kind === "skill";
    const next = replaced(draft.text, picker.token, isSkill ? "" : `@${suggestion.name}`);
    const file = { fileId: suggestion.id, filename: suggestion.name };
    const isNew = draft.attachments.every((each) => each.fileId !== file.fileId);
    change({
      text: next.text,
      ...(isSkill && { skill: suggestion.name }),
      ...(suggestion.kind === "file" && isNew && { attachments: [...draft.attachments, file] }),
    });
    picker.look(next.text, next.caret);
    requestAnimationFrame(() => {
      area.current?.focus();
      area.current?.setSelectionRange(next.caret, next.caret);
    });
  };

  const onKeyDown = (event: KeyboardEvent<HTMLTextAreaElement>) => {
    if (isInputMethods(event) || picker.onKey(event, pick)) return;
    if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      send();
    }
    if (event.key === "Escape" && !event.repeat && onStop) onStop();
  };

  const onPaste = (event: ClipboardEvent<HTMLTextAreaElement>) => {
    const { files, types } = event.clipboardData;
    if (files.length === 0 || types.includes("text/plain")) return; // a table's picture comes with its text
    event.preventDefault();
    attach(files);
  };

  const isPicking = picker.suggestions !== null;
  return (
    <>
      {picker.suggestions && (
        <PickList
          id={listId}
          suggestions={picker.suggestions}
          active={picker.active}
          onHover={picker.setActive}
          onPick={pick}
        />
      )}
      <textarea
        ref={area}
        rows={1}
        value={draft.text}
        autoFocus={props.isAutoFocused}
        aria-label={t("composer.label")}
        aria-describedby={describedBy}
        aria-autocomplete="list"
        aria-controls={isPicking ? listId : undefined}
        aria-activedescendant={isPicking ? `${listId}-${picker.active}` : undefined}
        placeholder={t("composer.placeholder")}
        className="max-h-[40dvh] min-h-12 w-full resize-none bg-transparent px-4 pt-3 pb-1 outline-none"
        onChange={(event) => {
          change({ text: event.target.value });
          picker.look(event.target.value, event.target.selectionStart);
        }}
        onSelect={(event) => {
          const { value, selectionStart, selectionEnd } = event.currentTarget;
          if (selectionStart === selectionEnd) picker.look(value, selectionStart);
        }}
        onBlur={picker.close}
        onKeyDown={onKeyDown}
        onPaste={onPaste}
      />
    </>
  );
}

function fitHeight(element: HTMLTextAreaElement): void {
  element.style.height = "auto";
  element.style.height = `${element.scrollHeight}px`;
}

/** Keys that choose among Chinese characters are not ours. Safari tells by 229 only. */
function isInputMethods(event: KeyboardEvent): boolean {
  // eslint-disable-next-line @typescript-eslint/no-deprecated -- see above
  return event.nativeEvent.isComposing || event.keyCode === 229;
}
