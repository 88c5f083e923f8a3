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
  const run = async (key: string, test: () => Promise<Trial>) => {
    const running: TrialState = { isRunning: true, trial: null, error: null };
    setByKey((now) => new Map(now).set(key, running));
    const ended = await outcome(test);
    // A server that was forgotten or is tested anew has no use for it.
    setByKey((now) => (now.get(key) === running ? new Map(now).set(key, ended) : now));
    await refreshMcp();
  };
  const forget = (key: string) =>
    setByKey((now) => new Map([...now].filter(([each]) => each !== key)));
  return {
    of: (key) => byKey.get(key),
    run: (key, test) => void run(key, test),
    forget,
  };
}

async function outcome(test: () => Promise<Trial>): Promise<TrialState> {
  try {
    return { isRunning: false, trial: await test(), error: null };
  } catch (error) {
    return { isRunning: false, trial: null, error };
  }
}
