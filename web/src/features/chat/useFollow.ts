/** Keeps a scrolling area at its end while it grows, unless the reader has scrolled up. */

import { useCallback, useLayoutEffect, useRef, useState, type RefObject } from "react";

const NEAR_PX = 60;
const HAND_MS = 1500;

export interface Follow {
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
export function useFollow(area: RefObject<HTMLElement | null>, height: number): Follow {
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
