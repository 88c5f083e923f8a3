/** Light or dark, as the page is now: charts are drawn anew when it changes. */

import { useSyncExternalStore } from "react";

function onChange(listener: () => void): () => void {
  const observer = new MutationObserver(listener);
  observer.observe(document.documentElement, { attributeFilter: ["data-theme"] });
  return () => observer.disconnect();
}

export function usePageLook(): string {
  return useSyncExternalStore(onChange, () => document.documentElement.dataset["theme"] ?? "");
}
