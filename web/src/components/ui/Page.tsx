/** The frame of a page that is not the chat: a title, what it is for, its actions, its content. */

import type { ReactNode } from "react";

import { usePageTitle } from "@/lib/pageTitle";

interface PageProps {
  title: string;
  text?: ReactNode;
  actions?: ReactNode;
  children: ReactNode;
}

export function Page({ title, text, actions, children }: PageProps) {
  usePageTitle(title);
  return (
    <div className="mx-auto grid w-full max-w-6xl grid-cols-1 gap-5 px-4 py-6 md:px-8">
      <header className="flex flex-wrap items-start gap-3">
        <div className="min-w-0 flex-1 basis-60">
          <h1 className="text-xl font-semibold">{title}</h1>
          {text !== undefined && <div className="mt-1 max-w-2xl text-sm text-muted">{text}</div>}
        </div>
        {actions !== undefined && <div className="flex flex-wrap gap-2">{actions}</div>}
      </header>
      {children}
    </div>
  );
}

export function Card({
  title,
  children,
  actions,
}: {
  title?: string;
  children: ReactNode;
  actions?: ReactNode;
}) {
  return (
    <section className="rounded-xl border border-line bg-raised p-4">
      {(title !== undefined || actions !== undefined) && (
        <div className="mb-3 flex items-center gap-2">
          {title !== undefined && <h2 className="flex-1 font-medium">{title}</h2>}
          {actions}
        </div>
      )}
      {children}
    </section>
  );
}
