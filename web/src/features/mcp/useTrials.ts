/** Tests of servers that run or have run while the page is open, by server. */

import { useState } from "react";

import { refreshMcp, type Trial } from "./queries";

export interface TrialState {
  isRunning: boolean;
  trial: Trial | null;
  error: unknown;
}

export interface Trials {
  of: (key: string) => TrialState | undefined;
  run: (key: string, test: () => Promise<Trial>) => void;
  forget: (key: string) => void;
}

export function useTrials(): Trials {
  const [byKey, setByKey] = useState<ReadonlyMap<string, TrialState>>(new Map());
  const put = (key: string, state: TrialState | null) =>
    setByKey((now) => {
      const next = new Map(now);
      if (state) next.set(key, state);
      else next.delete(key);
      return next;
    });
  const run = async (key: string, test: () => Promise<Trial>) => {
    put(key, { isRunning: true, trial: null, error: null });
    try {
      put(key, { isRunning: false, trial: await test(), error: null });
    } catch (error) {
      put(key, { isRunning: false, trial: null, error });
    }
    await refreshMcp();
  };
  return {
    of: (key) => byKey.get(key),
    run: (key, test) => void run(key, test),
    forget: (key) => put(key, null),
  };
}
