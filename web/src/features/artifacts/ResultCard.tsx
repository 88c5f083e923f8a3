/** The frame of a result in an answer: what it is, what can be done with it, the thing itself. */

import type { LucideIcon } from "lucide-react";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";

interface ResultCardProps {
  kind: "table" | "chart";
  icon: LucideIcon;
  title: string;
  note?: ReactNode;
  actions?: ReactNode;
  children: ReactNode;
}

export function ResultCard(props: ResultCardProps) {
  const { kind, icon: Icon, title, note, actions, children } = props;
  const { t } = useTranslation("results");
  return (
    <section
      aria-label={t(`cards.${kind}`, { title })}
      className="min-w-0 overflow-hidden rounded-xl border border-line bg-raised"
    >
      <header className="flex flex-wrap items-center gap-x-3 gap-y-1 border-b border-line py-1.5 pr-2 pl-3">
        <Icon className="size-4 shrink-0 text-muted" aria-hidden />
        <div className="min-w-40 flex-1">
          <h3 className="text-sm font-medium [overflow-wrap:anywhere]">{title}</h3>
          {note}
        </div>
        <div className="flex items-center gap-1">{actions}</div>
      </header>
      {children}
    </section>
  );
}
