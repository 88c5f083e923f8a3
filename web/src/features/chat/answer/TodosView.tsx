/** The plan of an answer as a list to tick off. */

import { CircleCheck, CircleDashed, CircleDot, type LucideIcon } from "lucide-react";
import { memo } from "react";
import { useTranslation } from "react-i18next";

import type { TodosPart } from "@/events/state";
import type { Todo } from "@/events/types";
import { classes } from "@/lib/classes";

import { Fold } from "./Fold";

const STATUS: Record<Todo["status"], { icon: LucideIcon; look: string; text: string }> = {
  pending: { icon: CircleDashed, look: "text-muted", text: "" },
  in_progress: { icon: CircleDot, look: "text-accent", text: "font-medium" },
  completed: { icon: CircleCheck, look: "text-good", text: "text-muted" },
};

export const TodosView = memo(function TodosView({ part }: { part: TodosPart }) {
  const { t } = useTranslation("answer");
  const done = part.todos.filter((each) => each.status === "completed").length;
  const current = part.todos.find((each) => each.status === "in_progress");
  return (
    <Fold
      id={part.key}
      isOpenByItself
      className="rounded-xl border border-line bg-raised px-2.5 py-0.5"
      title={
        <>
          <span className="shrink-0 font-medium">{t("todos.title")}</span>
          <span className="shrink-0 text-muted tabular-nums">
            {t("todos.progress", { done, all: part.todos.length })}
          </span>
          <span className="min-w-0 truncate text-muted">{current?.content}</span>
        </>
      }
    >
      <ul className="grid gap-1 pt-1 pb-2 pl-1 text-sm">
        {part.todos.map((todo, at) => {
          const { icon: Icon, look, text } = STATUS[todo.status];
          return (
            <li key={at} className="flex items-start gap-2">
              <Icon
                role="img"
                aria-label={t(`todos.${todo.status}`)}
                className={classes("mt-0.5 size-4 shrink-0", look)}
              />
              <span className={classes("min-w-0 [overflow-wrap:anywhere]", text)}>
                {todo.content}
              </span>
            </li>
          );
        })}
      </ul>
    </Fold>
  );
});
