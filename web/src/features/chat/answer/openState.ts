/**
 * What was folded open or shut by hand, for as long as the page lives: a long list forgets its
 * rows.
 */

import { useState } from "react";

const chosen = new Map<string, boolean>();

/** Whether a part is open: as chosen, otherwise as it is by itself. */
export function useOpen(id: string, isOpenByItself: boolean): [boolean, (isOpen: boolean) => void] {
  const [, setCount] = useState(0);
  const choose = (isOpen: boolean) => {
    chosen.set(id, isOpen);
    setCount((count) => count + 1);
  };
  return [chosen.get(id) ?? isOpenByItself, choose];
}
