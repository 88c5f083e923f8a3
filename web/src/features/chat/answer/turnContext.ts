/** What the parts of an answer need to know of their turn, and can do in it. */

import { createContext, use } from "react";

import type { Decision } from "@/events/types";

export interface TurnContextValue {
  conversationId: string;
  turnId: string;
  isRunning: boolean;
  decide: (requestId: string, decision: Decision) => Promise<void>;
  /** Ask the same again; null where that makes no sense. */
  askAgain: (() => void) | null;
}

export const TurnContext = createContext<TurnContextValue | null>(null);

export function useTurn(): TurnContextValue {
  const value = use(TurnContext);
  if (value === null) throw new Error("useTurn needs a TurnContext around it.");
  return value;
}
