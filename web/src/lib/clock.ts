/** The time as the server has it: a browser's own clock may be minutes off. */

import { useEffect, useState } from "react";

let ahead = 0;

/** The server has just said what time it is, in epoch seconds. */
export function setServerTime(seconds: number): void {
  ahead = seconds - Date.now() / 1000;
}

/** Now, in epoch seconds of the server. */
export function serverNow(): number {
  return Date.now() / 1000 + ahead;
}

/** The server's time in epoch seconds, moving on while it matters. */
export function useNow(isTicking: boolean): number {
  const [now, setNow] = useState(serverNow);
  useEffect(() => {
    if (!isTicking) return;
    const timer = setInterval(() => setNow(serverNow()), 1000);
    return () => clearInterval(timer);
  }, [isTicking]);
  return now;
}
