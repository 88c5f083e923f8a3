/** The user's conversations by day, searched and loaded as far as one scrolls. */

import { useInfiniteQuery } from "@tanstack/react-query";
import { Search } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";

import { ErrorState, LoadingState } from "@/components/ui/States";
import { useSettled } from "@/lib/useSettled";

import { ConversationItem } from "./ConversationItem";
import { groupByDay, type Group } from "./groups";
import { MoreButton } from "./MoreButton";
import { conversationsQuery } from "./queries";

const TYPING_MS = 250;

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
