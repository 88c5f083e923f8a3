/** The user's conversations in the side bar. */

import { useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Search } from "lucide-react";
import { useEffect, useEffectEvent, useRef, useState } from "react";
import { useTranslation } from "react-i18next";

import { Button } from "@/components/ui/Button";
import { ErrorState, LoadingState } from "@/components/ui/States";
import { useSettled } from "@/lib/useSettled";

import { ConversationMenu } from "./ConversationMenu";
import { groupByDay, type ConversationInfo, type Group } from "./groups";
import { conversationsQuery } from "./queries";

const TYPING_MS = 250;

/** The user's conversations by day, searched and loaded as far as one scrolls. */
export function ConversationList({ onOpen }: { onOpen: () => void }) {
  const { t } = useTranslation("chat");
  const [search, setSearch] = useState("");
  const sought = useSettled(search.trim(), TYPING_MS);
  const list = useInfiniteQuery(conversationsQuery(sought));
  const conversations = list.data?.pages.flatMap((page) => page.items) ?? [];
  return (
    <nav aria-label={t("list.label")} className="flex min-h-0 flex-1 flex-col">
      <div className="relative px-2 pb-2">
        <Search
          className="pointer-events-none absolute top-2 left-4.5 size-4 text-muted"
          aria-hidden
        />
        <input
          type="search"
          value={search}
          maxLength={200}
          aria-label={t("list.search")}
          placeholder={t("list.search")}
          onChange={(event) => setSearch(event.target.value)}
          className="h-8 w-full rounded-lg border border-line bg-raised pr-2 pl-8.5 text-sm"
        />
      </div>
      <div className="min-h-0 flex-1 overflow-y-auto px-2 pb-2">
        {list.isPending && <LoadingState lines={5} />}
        {list.isError && conversations.length === 0 && (
          <ErrorState error={list.error} onRetry={() => void list.refetch()} />
        )}
        {list.isSuccess && conversations.length === 0 && (
          <p className="px-2.5 py-3 text-sm text-muted">
            {t(sought === "" ? "list.empty" : "list.noMatch")}
          </p>
        )}
        {groupByDay(conversations, new Date()).map((group) => (
          <DayGroup key={String(group.when)} group={group} onOpen={onOpen} />
        ))}
        {list.hasNextPage && (
          <MoreButton
            isBusy={list.isFetchingNextPage}
            hasFailed={list.isFetchNextPageError}
            onMore={() => void list.fetchNextPage({ cancelRefetch: false })}
          />
        )}
      </div>
    </nav>
  );
}

function DayGroup({ group, onOpen }: { group: Group; onOpen: () => void }) {
  const { t, i18n } = useTranslation("chat");
  const { when } = group;
  const title =
    typeof when === "string"
      ? t(`list.${when}`)
      : new Intl.DateTimeFormat(i18n.language, { month: "long", year: "numeric" }).format(when);
  return (
    <section aria-label={title}>
      <h2 className="px-2.5 pt-3 pb-1 text-xs font-medium text-muted">{title}</h2>
      <ul>
        {group.items.map((conversation) => (
          <ConversationItem key={conversation.id} conversation={conversation} onOpen={onOpen} />
        ))}
      </ul>
    </section>
  );
}

interface ConversationItemProps {
  conversation: ConversationInfo;
  onOpen: () => void;
}

/** One line of the list. */
function ConversationItem({ conversation, onOpen }: ConversationItemProps) {
  return (
    <li className="group relative">
      <Link
        to="/chat/$conversationId"
        params={{ conversationId: conversation.id }}
        preload={false}
        onClick={onOpen}
        title={conversation.title}
        className="block truncate rounded-lg py-1.5 pr-9 pl-2.5 text-sm hover:bg-line/60"
        activeProps={{ className: "bg-line/70 font-medium" }}
      >
        {conversation.title}
      </Link>
      <ConversationMenu
        conversation={conversation}
        onDelete={onOpen}
        className="absolute top-1 right-1 focus-visible:opacity-100 data-[state=open]:opacity-100 group-focus-within:opacity-100 group-hover:opacity-100 md:opacity-0"
      />
    </li>
  );
}

interface MoreButtonProps {
  isBusy: boolean;
  /** The last try failed: the next one is the user's, or it would be tried without end. */
  hasFailed: boolean;
  onMore: () => void;
}

/** The end of a list that goes on: loads the next page when it comes into view, or when pressed. */
export function MoreButton({ isBusy, hasFailed, onMore }: MoreButtonProps) {
  const { t } = useTranslation("chat");
  const end = useRef<HTMLDivElement>(null);
  const more = useEffectEvent(onMore);
  useEffect(() => {
    if (isBusy || hasFailed || !end.current) return;
    const observer = new IntersectionObserver((entries) => {
      if (entries.some((entry) => entry.isIntersecting)) more();
    });
    observer.observe(end.current);
    return () => observer.disconnect();
  }, [isBusy, hasFailed]);
  return (
    <div ref={end} className="py-2 text-center">
      <Button size="small" variant="ghost" isBusy={isBusy} onClick={onMore}>
        {t("list.more")}
      </Button>
    </div>
  );
}
