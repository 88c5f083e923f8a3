/**
 * The frame of a section of the administration: a heading, what it is for, its actions, its
 * content.
 */

import type { ReactNode } from "react";

interface SectionProps {
  title: string;
  text?: ReactNode;
  actions?: ReactNode;
  children: ReactNode;
}

export function Section({ title, text, actions, children }: SectionProps) {
  return (
    <section className="grid min-w-0 gap-4">
      <header className="flex flex-wrap items-start gap-3">
        <div className="min-w-0 flex-1 basis-60">
          <h2 className="text-lg font-semibold">{title}</h2>
          {text !== undefined && <div className="mt-1 max-w-2xl text-sm text-muted">{text}</div>}
        </div>
        {actions !== undefined && <div className="flex flex-wrap gap-2">{actions}</div>}
      </header>
      {children}
    </section>
  );
}
