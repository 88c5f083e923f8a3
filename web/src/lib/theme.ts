/** Light, dark, or as the system has it; kept in this browser. */

import { useSyncExternalStore } from "react";

import { readStored, writeStored } from "@/lib/store";

export const THEMES = ["light", "dark", "system"] as const;
type Theme = (typeof THEMES)[number];

const KEY = "dataagent.theme";
const system = window.matchMedia("(prefers-color-scheme: dark)");
const listeners = new Set<() => void>();

function chosenTheme(): Theme {
  return THEMES.find((theme) => theme === readStored(KEY)) ?? "system";
}

export function setTheme(theme: Theme): void {
  writeStored(KEY, theme);
  applyTheme();
}

function isDark(): boolean {
  const theme = chosenTheme();
  return theme === "dark" || (theme === "system" && system.matches);
}

function applyTheme(): void {
  document.documentElement.dataset["theme"] = isDark() ? "dark" : "light";
  for (const listener of listeners) listener();
}

/** Call once, before the first rendering. */
export function startTheme(): void {
  system.addEventListener("change", applyTheme);
  applyTheme();
}

/** The theme that is chosen, wherever that was done; renders again when it changes. */
export function useTheme(): Theme {
  return useSyncExternalStore(onTheme, chosenTheme);
}

function onTheme(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
