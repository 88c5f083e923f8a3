/** Whether there is room for the side bar beside the page. */

import { useSyncExternalStore } from "react";

const wide = window.matchMedia("(min-width: 48rem)");

function onChange(listener: () => void): () => void {
  wide.addEventListener("change", listener);
  return () => wide.removeEventListener("change", listener);
}

export function useIsWide(): boolean {
  return useSyncExternalStore(onChange, () => wide.matches);
}
