/** What a readiness check says → whether it is well, and what to do if not. Pure. */

import type { Schemas } from "@/api/client";

export type SystemInfo = Schemas["SystemInfo"];

const ADVISED = ["database", "migrations", "disk", "bus", "workers", "server"] as const;
type Advised = (typeof ADVISED)[number];

export interface Check {
  name: string;
  isWell: boolean;
  /** The server's own words. */
  says: string;
  /** For which there is advice; null for a check that is not known here. */
  advice: Advised | null;
}

/** What is wrong first, then by name. */
export function checksOf(checks: SystemInfo["checks"]): Check[] {
  return Object.entries(checks)
    .map(([name, says]) => ({
      name,
      says,
      isWell: says === "ok",
      advice: ADVISED.find((each) => each === name) ?? null,
    }))
    .sort((a, b) => Number(a.isWell) - Number(b.isWell) || a.name.localeCompare(b.name));
}

type HealthNotice = "offline" | "noSandbox" | "mcpFailing" | "connectionsFull" | "queueLong";

const NEARLY_FULL = 0.9;
const LONG_QUEUE = 20;

/** What works but deserves a look. */
export function noticesOf(system: SystemInfo): HealthNotice[] {
  const { connections, mcp, runs, sandbox } = system;
  const notices: [HealthNotice, boolean][] = [
    ["offline", system.is_offline],
    ["noSandbox", sandbox === null],
    ["mcpFailing", (mcp?.failing.length ?? 0) > 0],
    ["connectionsFull", connections.used >= connections.limit * NEARLY_FULL],
    ["queueLong", (runs.queued ?? 0) >= LONG_QUEUE],
  ];
  return notices.filter(([, holds]) => holds).map(([notice]) => notice);
}

interface Span {
  unit: "days" | "hours" | "minutes";
  days: number;
  hours: number;
  minutes: number;
}

/** A span, and the largest unit that it fills: smaller ones than the next say nothing more. */
export function spanOf(seconds: number): Span {
  const minutes = Math.floor(seconds / 60);
  return {
    unit: minutes >= 1440 ? "days" : minutes >= 60 ? "hours" : "minutes",
    days: Math.floor(minutes / 1440),
    hours: Math.floor((minutes % 1440) / 60),
    minutes: minutes % 60,
  };
}
