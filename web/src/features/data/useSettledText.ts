/** A text once its typing has paused; an empty one at once. */

import { useEffect, useState } from "react";

const PAUSE_MS = 250;

export function useSettledText(text: string): string {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return text === "" ? "" : settled;
}
