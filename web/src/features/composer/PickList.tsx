/** What fits the `/` or `@` that is being typed, over the input. The input keeps the focus. */

import { BookOpen, Database, FileText, Table2, type LucideIcon } from "lucide-react";
import { useEffect, useRef } from "react";
import { useTranslation } from "react-i18next";

import { classes } from "@/lib/classes";

import type { Suggestion } from "./useSuggestions";

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

export function PickList({ id, suggestions, active, onHover, onPick }: PickListProps) {
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
