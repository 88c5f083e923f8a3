/** The list under `/` and `@`: open while a token is typed, moved through with the arrow keys. */

import { useState, type KeyboardEvent } from "react";

import { tokenAt, type Token } from "./tokens";
import { useSuggestions, type Suggestion } from "./useSuggestions";

interface Picker {
  /** null: closed. Empty: nothing fits. */
  suggestions: Suggestion[] | null;
  active: number;
  token: Token | null;
  /** Look at the text again after it or the caret has changed. */
  look: (text: string, caret: number) => void;
  close: () => void;
  setActive: (at: number) => void;
  /** Whether the key was the list's. */
  onKey: (event: KeyboardEvent, pick: (suggestion: Suggestion) => void) => boolean;
}

export function usePicker(): Picker {
  const [token, setToken] = useState<Token | null>(null);
  const [active, setActive] = useState(0);
  const [closedAt, setClosedAt] = useState<number | null>(null);
  const found = useSuggestions(token);
  const isOpen = found !== null && found.length > 0;
  const at = isOpen ? Math.min(active, found.length - 1) : 0;

  const look = (text: string, caret: number) => {
    const next = tokenAt(text, caret);
    if (next === null) setClosedAt(null);
    setToken(next !== null && next.start === closedAt ? null : next);
    if (next?.query !== token?.query) setActive(0);
  };

  const close = () => {
    setClosedAt(token?.start ?? null); // Escape: not again for this one
    setToken(null);
  };

  const onKey: Picker["onKey"] = (event, pick) => {
    const chosen = isOpen ? found[at] : undefined;
    if (chosen === undefined || found === null) return false;
    const count = found.length;
    const keys: Record<string, () => void> = {
      ArrowDown: () => setActive((at + 1) % count),
      ArrowUp: () => setActive((at - 1 + count) % count),
      Enter: () => pick(chosen),
      Tab: () => pick(chosen),
      Escape: close,
    };
    const act = event.shiftKey ? undefined : keys[event.key];
    if (act === undefined) return false;
    event.preventDefault();
    event.stopPropagation();
    act();
    return true;
  };

  return { suggestions: isOpen ? found : null, active: at, token, look, close, setActive, onKey };
}
