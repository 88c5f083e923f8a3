/** The page of a conversation that has not begun. */

import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { ChartLine, Globe, Table2, X } from "lucide-react";
import { useState, type ReactNode } from "react";
import { useTranslation } from "react-i18next";

import { infoQuery, sourcesQuery, useMe } from "@/api/queries";
import { Banner } from "@/components/ui/Banner";
import { IconButton } from "@/components/ui/Button";
import type { Question } from "@/events/state";
import { Composer } from "@/features/composer/Composer";
import { useNewDraftId } from "@/features/composer/drafts";
import { serverNow } from "@/lib/clock";
import { newId } from "@/lib/ids";
import { usePageTitle } from "@/lib/pageTitle";
import { readStored, writeStored } from "@/lib/store";

import { outbox } from "./outbox";

/**
 * `/`: a conversation that begins with its first question, so that no empty ones are left behind.
 */
export function NewChat() {
  const { t } = useTranslation("chat");
  const navigate = useNavigate();
  const draftId = useNewDraftId();
  usePageTitle(t("newTitle"));
  const ask = (question: Question) => {
    const conversationId = newId();
    outbox.begin(conversationId, { clientMessageId: newId(), question, at: serverNow() });
    void navigate({ to: "/chat/$conversationId", params: { conversationId } });
  };
  return (
    <div className="flex h-full flex-col">
      <ModelNote />
      <Welcome onAsk={ask}>
        <Composer key={draftId} conversationId={draftId} onSend={ask} />
      </Welcome>
    </div>
  );
}

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

/** The beginning: what this is for, where to write, and questions to begin with. */
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

const KEY = "dataagent.modelNote";
const HIDDEN = "hidden";

/** When no language model is set up: what that means, and what to do about it. */
export function ModelNote() {
  const { t } = useTranslation("chat");
  const me = useMe();
  const info = useQuery(infoQuery).data;
  const [isHidden, setIsHidden] = useState(() => readStored(KEY) === HIDDEN);
  if (info?.is_offline !== true || isHidden || me === undefined) return null;
  const hide = () => {
    writeStored(KEY, HIDDEN);
    setIsHidden(true);
  };
  return (
    <div className="mx-auto w-full max-w-3xl px-4 pt-3">
      <Banner
        kind="warn"
        action={<IconButton icon={X} label={t("model.dismiss")} isSmall onClick={hide} />}
      >
        <strong className="font-medium">{t("model.title")}</strong>{" "}
        {t(me.role === "admin" ? "model.admin" : "model.user")}
      </Banner>
    </div>
  );
}
