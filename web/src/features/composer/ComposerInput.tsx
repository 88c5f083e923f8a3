/** Where a question is typed, with agents, skills and data to pick by `@`, `/` and `#`. */

import { useQueries, useQuery } from "@tanstack/react-query";
import { BookOpen, Database, FileText, Table2, type LucideIcon } from "lucide-react";
import {
  useEffect,
  useId,
  useLayoutEffect,
  useRef,
  useState,
  type ClipboardEvent,
  type KeyboardEvent,
  type RefObject,
} from "react";
import { useTranslation } from "react-i18next";

import { filesQuery, skillsQuery, sourcesQuery, tablesQuery } from "@/api/queries";
import { classes } from "@/lib/classes";

import { matching, mentionOf, replaced, sourceIn, tokenAt, type Token } from "./tokens";
import type { Composing } from "./useComposer";

interface ComposerInputProps {
  area: RefObject<HTMLTextAreaElement | null>;
  composing: Composing;
  isAutoFocused: boolean;
  describedBy: string;
  /** null: nothing runs. */
  onStop: (() => void) | null;
}

/** The text being typed: grows with it, knows Enter, and the list under `/` and `@`. */
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

const ICONS: Record<Suggestion["kind"], LucideIcon> = {
  skill: BookOpen,
  source: Database,
  table: Table2,
  file: FileText,
};

interface PickListProps {
  id: string;
  suggestions: Suggestion[];
  active: number;
  onHover: (at: number) => void;
  onPick: (suggestion: Suggestion) => void;
}

/** What fits the `/` or `@` that is being typed, over the input. The input keeps the focus. */
function PickList({ id, suggestions, active, onHover, onPick }: PickListProps) {
  const { t } = useTranslation("chat");
  const list = useRef<HTMLUListElement>(null);
  useEffect(() => {
    list.current?.children[active]?.scrollIntoView({ block: "nearest" });
  }, [active]);
  return (
    <ul
      ref={list}
      id={id}
      role="listbox"
      tabIndex={0}
      aria-label={t("composer.suggestions")}
      className="absolute inset-x-0 bottom-full z-20 mb-2 max-h-72 overflow-y-auto rounded-xl border border-line bg-raised p-1 shadow-float"
    >
      {suggestions.map((suggestion, at) => {
        const Icon = ICONS[suggestion.kind];
        return (
          <li
            key={`${suggestion.kind} ${suggestion.id}`}
            id={`${id}-${at}`}
            role="option"
            aria-selected={at === active}
            className={classes(
              "flex cursor-pointer items-start gap-2.5 rounded-lg px-2.5 py-2 text-sm",
              at === active && "bg-sunken",
            )}
            onMouseMove={() => at !== active && onHover(at)}
            onMouseDown={(event) => event.preventDefault()} // the focus stays in the input
            onClick={() => onPick(suggestion)}
          >
            <Icon className="mt-0.5 size-4 shrink-0 text-muted" aria-hidden />
            <span className="min-w-0 flex-1">
              <span className="font-medium [overflow-wrap:anywhere]">{suggestion.name}</span>
              <span className="ml-2 text-xs text-muted">
                {t(`composer.kinds.${suggestion.kind}`)}
              </span>
              <span className="line-clamp-2 text-xs text-muted">{suggestion.description}</span>
            </span>
          </li>
        );
      })}
    </ul>
  );
}

interface Picker {
  /** null: closed. Empty: nothing fits. */
  suggestions: Suggestion[] | null;
  active: number;
  token: Token | null;
  /** Look at the text again after it or the caret has changed. */
  look: (text: string, caret: number) => void;
  close: () => void;
  setActive: (at: number) => void;
  /** Whether the key was the list's. */
  onKey: (event: KeyboardEvent, pick: (suggestion: Suggestion) => void) => boolean;
}

/** The list under `/` and `@`: open while a token is typed, moved through with the arrow keys. */
function usePicker(): Picker {
  const [token, setToken] = useState<Token | null>(null);
  const [active, setActive] = useState(0);
  const [closedAt, setClosedAt] = useState<number | null>(null);
  const found = useSuggestions(token);
  const isOpen = found !== null && found.length > 0;
  const at = isOpen ? Math.min(active, found.length - 1) : 0;

  const look = (text: string, caret: number) => {
    const next = tokenAt(text, caret);
    if (next === null) setClosedAt(null);
    setToken(next !== null && next.start === closedAt ? null : next);
    if (next?.query !== token?.query) setActive(0);
  };

  const close = () => {
    setClosedAt(token?.start ?? null); // Escape: not again for this one
    setToken(null);
  };

  const onKey: Picker["onKey"] = (event, pick) => {
    const chosen = isOpen ? found[at] : undefined;
    if (chosen === undefined || found === null) return false;
    const count = found.length;
    const keys: Record<string, () => void> = {
      ArrowDown: () => setActive((at + 1) % count),
      ArrowUp: () => setActive((at - 1 + count) % count),
      Enter: () => pick(chosen),
      Tab: () => pick(chosen),
      Escape: close,
    };
    const act = event.shiftKey ? undefined : keys[event.key];
    if (act === undefined) return false;
    event.preventDefault();
    event.stopPropagation();
    act();
    return true;
  };

  return { suggestions: isOpen ? found : null, active: at, token, look, close, setActive, onKey };
}

interface Suggestion {
  kind: "skill" | "source" | "table" | "file";
  id: string;
  /** As it is written after the `/` or `@`. */
  name: string;
  description: string;
}

/** Fetched when first needed; null when nothing is being picked. */
function useSuggestions(token: Token | null): Suggestion[] | null {
  const skills = useSkills(token?.kind === "skill");
  const isMention = token?.kind === "mention";
  const sources = useSources(isMention);
  const tables = useTables(isMention ? token.query : "", sources);
  const files = useFiles(isMention);
  if (token === null) return null;
  const known = isMention ? [...sources, ...files, ...tables] : skills;
  return matching(known, token.query);
}

function useSkills(enabled: boolean): Suggestion[] {
  const found = useQuery({ ...skillsQuery, enabled }).data?.items ?? [];
  return found.map(({ name, description }) => ({ kind: "skill", id: name, name, description }));
}

function useSources(enabled: boolean): Suggestion[] {
  const found = useQuery({ ...sourcesQuery, enabled }).data?.items ?? [];
  return found.map(({ source_id: id, name, description }) => {
    return { kind: "source", id, name, description };
  });
}

/** Tables once something is typed: of the source before the dot, or else of all. */
function useTables(query: string, sources: Suggestion[]): Suggestion[] {
  const named = sourceIn(query, sources);
  const wanted = query === "" ? [] : named ? [named] : sources;
  const queries = useQueries({ queries: wanted.map((source) => tablesQuery(source.id)) });
  return wanted.flatMap((source, at) =>
    (queries[at]?.data?.items ?? []).map((table): Suggestion => {
      const id = `${source.id} ${table.key}`;
      const name = mentionOf(source.name, table.key);
      return { kind: "table", id, name, description: table.comment ?? "" };
    }),
  );
}

function useFiles(enabled: boolean): Suggestion[] {
  const found = useQuery({ ...filesQuery, enabled }).data?.items ?? [];
  return found.map(({ file_id: id, filename: name }) => {
    return { kind: "file", id, name, description: "" };
  });
}
