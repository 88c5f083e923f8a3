/** The turns of a conversation in a list that renders only those in sight. */

import { useVirtualizer } from "@tanstack/react-virtual";
import { ArrowDown } from "lucide-react";
import {
  useCallback,
  useEffect,
  useLayoutEffect,
  useRef,
  useState,
  type KeyboardEvent,
  type RefObject,
} from "react";
import { useTranslation } from "react-i18next";

import { Button } from "@/components/ui/Button";
import type { Part, Turn } from "@/events/state";
import { useErrorText } from "@/lib/errorText";

import { TurnView } from "./answer/TurnView";
import type { Conversation } from "./useConversation";

const EARLIER_PX = 52;

interface TranscriptProps {
  conversation: Conversation;
  onEdit: (turn: Turn) => void;
}

/** All turns of a conversation; only those in view are rendered, so hundreds stay smooth. */
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

interface EarlierButtonProps {
  height: number;
  onLoad: () => Promise<void>;
}

/** Asks for the messages before those that are shown. */
function EarlierButton({ height, onLoad }: EarlierButtonProps) {
  const { t } = useTranslation("chat");
  const errorText = useErrorText();
  const [isBusy, setIsBusy] = useState(false);
  const [problem, setProblem] = useState<unknown>(null);
  const load = async () => {
    setIsBusy(true);
    setProblem(null);
    try {
      await onLoad();
    } catch (error) {
      setProblem(error);
    } finally {
      setIsBusy(false);
    }
  };
  return (
    <div className="flex items-center justify-center gap-2 px-4" style={{ height }}>
      <Button size="small" isBusy={isBusy} onClick={() => void load()}>
        {t("earlier")}
      </Button>
      {problem !== null && (
        <span role="alert" className="truncate text-sm text-danger">
          {errorText(problem)}
        </span>
      )}
    </div>
  );
}

const NEAR_PX = 60;
const HAND_MS = 1500;

interface Follow {
  isFollowing: boolean;
  toEnd: () => void;
  /** For the area: what scrolls it, and what shows that it is the reader who does. */
  handlers: {
    onScroll: () => void;
    onWheel: () => void;
    onTouchMove: () => void;
    onPointerDown: () => void;
    onKeyDownCapture: () => void;
  };
}

/** `height`: of the content, so that each growth is seen. */
function useFollow(area: RefObject<HTMLElement | null>, height: number): Follow {
  const [isFollowing, setIsFollowing] = useState(true);
  const follows = useRef(true);
  const lastTop = useRef(0);
  const touchedAt = useRef(-Infinity);

  const toEnd = useCallback(() => {
    follows.current = true;
    setIsFollowing(true);
    scrollToEnd(area.current);
  }, [area]);

  const onScroll = useCallback(() => {
    const element = area.current;
    if (!element) return;
    const { scrollTop, scrollHeight, clientHeight } = element;
    const isNear = scrollHeight - scrollTop - clientHeight < NEAR_PX;
    // Heights that turn out smaller than guessed move the area up, too: that is nobody's wish.
    const isByHand = performance.now() - touchedAt.current < HAND_MS;
    const isUp = isByHand && scrollTop < lastTop.current - 1;
    lastTop.current = scrollTop;
    if (isNear || isUp) {
      follows.current = isNear;
      setIsFollowing(isNear);
    }
  }, [area]);

  const onTouch = useCallback(() => {
    touchedAt.current = performance.now();
  }, []);

  useLayoutEffect(() => {
    if (follows.current) scrollToEnd(area.current);
  }, [area, height]);

  const handlers = {
    onScroll,
    onWheel: onTouch,
    onTouchMove: onTouch,
    onPointerDown: onTouch,
    onKeyDownCapture: onTouch,
  };
  return { isFollowing, toEnd, handlers };
}

function scrollToEnd(element: HTMLElement | null): void {
  if (element) element.scrollTop = element.scrollHeight;
}

const LINE_PX = 24;
const LINE_CHARACTERS = 90;
const FRAME_PX = 120; // the question's bubble, the spaces, the answer's buttons

const PART_PX: Record<Exclude<Part["kind"], "text">, number> = {
  thinking: 40,
  tool: 52,
  approval: 220,
  todos: 140,
  file: 60,
  artifact: 420,
  error: 90,
};

/** A turn never changes, and is asked for with every rendering of a long conversation. */
const known = new WeakMap<Turn, number>();

/** About how tall a turn is before it has been rendered, so that the scroll bar is nearly right. */
export function guessHeight(turn: Turn): number {
  const before = known.get(turn);
  if (before !== undefined) return before;
  const height = heightOf(turn);
  known.set(turn, height);
  return height;
}

function heightOf(turn: Turn): number {
  const parts = turn.parts.reduce(
    (sum, part) => sum + (part.kind === "text" ? textHeight(part.content) : PART_PX[part.kind]),
    0,
  );
  return FRAME_PX + textHeight(turn.question?.content ?? "") + parts;
}

function textHeight(text: string): number {
  const lines = text.split("\n");
  return lines.reduce(
    (sum, line) => sum + LINE_PX * Math.max(1, Math.ceil(line.length / LINE_CHARACTERS)),
    0,
  );
}
