/** The server's time in epoch seconds, moving on while it matters. */

import { useEffect, useState } from "react";

import { serverNow } from "@/lib/clock";

export function useNow(isTicking: boolean): number {
  const [now, setNow] = useState(serverNow);
  useEffect(() => {
    if (!isTicking) return;
    const timer = setInterval(() => setNow(serverNow()), 1000);
    return () => clearInterval(timer);
  }, [isTicking]);
  return now;
}
