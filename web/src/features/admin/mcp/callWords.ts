/** How a call ended, as a colour, and names for the ids in it. */

import { useQuery } from "@tanstack/react-query";

import type { Tone } from "@/components/ui/Badge";

import { allAgentsQuery } from "../agents/queries";
import type { CallStatus } from "./callFilters";
import { registryQuery } from "./queries";

export const CALL_TONES = {
  ok: "good",
  error: "danger",
  timeout: "danger",
  denied: "warn",
  invalid: "warn",
  cancelled: "neutral",
  unavailable: "danger",
} as const satisfies Record<CallStatus, Tone>;

export interface CallNames {
  server: (id: string) => string;
  agent: (id: string) => string;
}

/** What is gone is called by its id. */
export function useCallNames(): CallNames {
  const servers = useQuery(registryQuery).data?.items ?? [];
  const agents = useQuery(allAgentsQuery).data?.items ?? [];
  const serverNames = new Map(servers.map((each) => [each.server_id, each.name]));
  const agentNames = new Map(agents.map((each) => [each.id, each.name]));
  return {
    server: (id) => serverNames.get(id) ?? id,
    agent: (id) => agentNames.get(id) ?? id,
  };
}
