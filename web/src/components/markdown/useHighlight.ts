/** The colours of a code, as soon as the highlighter is there. */

import { useEffect, useMemo, useState } from "react";

import type { Piece } from "./highlight";

type Highlighter = (code: string, language: string) => Piece[] | null;

const MOST = 30_000; // longer code stays plain: colours would cost more than they help
let loaded: Highlighter | null = null;

/** The pieces, or null while they are not known. */
export function useHighlight(code: string, language: string): Piece[] | null {
  const [highlighter, setHighlighter] = useState<Highlighter | null>(() => loaded);
  const isWanted = language !== "" && code.length <= MOST;
  useEffect(() => {
    if (highlighter !== null || !isWanted) return;
    let isGone = false;
    import("./highlight").then(
      ({ highlight }) => {
        loaded = highlight;
        if (!isGone) setHighlighter(() => highlight);
      },
      () => undefined, // then it stays plain
    );
    return () => {
      isGone = true;
    };
  }, [highlighter, isWanted]);
  return useMemo(
    () => (isWanted && highlighter ? highlighter(code, language.toLowerCase()) : null),
    [code, language, highlighter, isWanted],
  );
}
