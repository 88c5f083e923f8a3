/** All turns of a conversation; only those in view are rendered, so hundreds stay smooth. */

import { useVirtualizer } from "@tanstack/react-virtual";
import { ArrowDown } from "lucide-react";
import { useEffect, useLayoutEffect, useRef, type KeyboardEvent } from "react";
import { useTranslation } from "react-i18next";

import { Button } from "@/components/ui/Button";
import type { Turn } from "@/events/state";

import { TurnView } from "./answer/TurnView";
import { EarlierButton } from "./EarlierButton";
import { guessHeight } from "./guessHeight";
import type { Conversation } from "./useConversation";
import { useFollow } from "./useFollow";

const EARLIER_PX = 52;

interface TranscriptProps {
  conversation: Conversation;
  onEdit: (turn: Turn) => void;
}

export function Transcript({ conversation, onEdit }: TranscriptProps) {
  const { t } = useTranslation("chat");
  const { turns, earlier } = conversation.state;
  const area = useRef<HTMLDivElement>(null);
  const fromEnd = useRef<number | null>(null);
  const top = earlier > 0 ? EARLIER_PX : 0;

  // eslint-disable-next-line react-hooks/incompatible-library -- its functions are used here only, not handed to memoised parts
  const rows = useVirtualizer({
    count: turns.length,
    getScrollElement: () => area.current,
    estimateSize: (at) => (turns[at] ? guessHeight(turns[at]) : 0),
    getItemKey: (at) => keyOf(turns[at], at),
    overscan: 1,
    scrollMargin: top,
    paddingEnd: 16,
  });
  const height = rows.getTotalSize();
  const { isFollowing, toEnd, handlers } = useFollow(area, height);

  const loadEarlier = async () => {
    const element = area.current;
    fromEnd.current = element ? element.scrollHeight - element.scrollTop : null;
    try {
      await conversation.loadEarlier();
    } catch (error) {
      fromEnd.current = null; // nothing came: the next change of the page is not this one's
      throw error;
    }
  };
  // What was in view stays in view when an earlier page comes before it.
  useLayoutEffect(() => {
    if (area.current && fromEnd.current !== null) {
      area.current.scrollTop = area.current.scrollHeight - fromEnd.current;
    }
    fromEnd.current = null;
  }, [earlier]);

  const last = turns.at(-1);
  const ownMessage = last?.status === "sending" ? last.clientMessageId : null;
  useEffect(() => {
    if (ownMessage !== null) toEnd(); // who sends wants to see it
  }, [ownMessage, toEnd]);

  // The browser's own way to the first turn ends where heights turn out other than guessed.
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.target !== event.currentTarget) return;
    if (event.key === "Home") {
      event.preventDefault();
      rows.scrollToOffset(0);
    }
    if (event.key === "End") {
      event.preventDefault();
      toEnd();
    }
  };

  const shown = rows.getVirtualItems();
  return (
    <div className="relative min-h-0 flex-1">
      <div
        ref={area}
        role="log"
        aria-live="off" // each answer says by itself when it is there; words on their way are not read out
        aria-label={t("log")}
        tabIndex={0}
        {...handlers}
        onKeyDown={onKeyDown}
        className="h-full overflow-y-auto -outline-offset-2 [overflow-anchor:none]"
      >
        {earlier > 0 && <EarlierButton height={EARLIER_PX} onLoad={loadEarlier} />}
        <div className="relative mx-auto w-full max-w-3xl" style={{ height }}>
          <div
            className="absolute inset-x-0 top-0 px-4"
            style={{ transform: `translateY(${(shown[0]?.start ?? top) - top}px)` }}
          >
            {shown.map(({ index, key }) => {
              const turn = turns[index];
              return (
                turn && (
                  <div key={key} data-index={index} ref={rows.measureElement} className="pt-6">
                    <TurnView
                      turn={turn}
                      conversation={conversation}
                      isLast={index === turns.length - 1}
                      onEdit={onEdit}
                    />
                  </div>
                )
              );
            })}
          </div>
        </div>
      </div>
      {!isFollowing && (
        <Button
          size="small"
          className="absolute bottom-3 left-1/2 -translate-x-1/2 rounded-full shadow-float"
          onClick={toEnd}
        >
          <ArrowDown className="size-4" aria-hidden />
          {t("newest")}
        </Button>
      )}
    </div>
  );
}

/** The same before and after the server has taken the message: the turn is not rendered anew. */
function keyOf(turn: Turn | undefined, at: number): string | number {
  return turn?.clientMessageId ?? turn?.id ?? at;
}
