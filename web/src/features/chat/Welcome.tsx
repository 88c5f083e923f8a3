/** The beginning: what this is for, where to write, and questions to begin with. */

import { useQuery } from "@tanstack/react-query";
import { ChartLine, Globe, Table2 } from "lucide-react";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";

import { sourcesQuery } from "@/api/queries";
import type { Question } from "@/events/state";

const EXAMPLES = [
  { id: "table", icon: Table2 },
  { id: "chart", icon: ChartLine },
  { id: "count", icon: Globe },
] as const;

interface WelcomeProps {
  onAsk: (question: Question) => void;
  /** The composer, when it stands in the middle. */
  children?: ReactNode;
}

export function Welcome({ onAsk, children }: WelcomeProps) {
  const { t } = useTranslation("chat");
  const sources = useQuery(sourcesQuery);
  const hasSample = sources.data?.items.some((source) => source.is_sample) ?? false;
  const ask = (content: string) =>
    onAsk({ messageId: null, content, attachments: [], agentId: null, skill: null });
  return (
    <div className="min-h-0 flex-1 overflow-y-auto">
      <div className="mx-auto grid min-h-full w-full max-w-3xl grid-cols-1 content-center gap-6 px-4 py-8">
        <div className="text-center">
          <h1 className="text-2xl font-semibold text-balance">{t("welcome")}</h1>
          <p className="mt-2 text-muted text-balance">{t("welcomeText")}</p>
        </div>
        {children}
        <section
          aria-label={t("examples")}
          className={
            hasSample ? "grid gap-2" : sources.isPending ? "invisible grid gap-2" : "hidden"
          }
        >
          <p className="text-center text-xs text-muted">{t("exampleHint")}</p>
          <ul className="grid gap-2 md:grid-cols-3">
            {EXAMPLES.map(({ id, icon: Icon }) => (
              <li key={id}>
                <button
                  type="button"
                  onClick={() => ask(t(`exampleQuestions.${id}`))}
                  className="flex h-full w-full items-start gap-2.5 rounded-xl border border-line bg-raised p-3 text-left text-sm hover:border-line-strong hover:bg-sunken"
                >
                  <Icon className="mt-0.5 size-4 shrink-0 text-accent" aria-hidden />
                  {t(`exampleQuestions.${id}`)}
                </button>
              </li>
            ))}
          </ul>
        </section>
      </div>
    </div>
  );
}
