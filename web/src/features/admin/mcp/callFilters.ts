/** The filters of the call log ↔ the query that is sent. Pure. */

import type { paths } from "@/api/schema";

type CallQuery = NonNullable<paths["/api/v1/mcp/calls"]["get"]["parameters"]["query"]>;
export type CallStatus = NonNullable<CallQuery["status"]>;

export const CALL_STATUSES: CallStatus[] = [
  "ok",
  "error",
  "timeout",
  "denied",
  "invalid",
  "cancelled",
  "unavailable",
];

export interface CallFilters {
  status: CallStatus | "";
  serverId: string;
  agentId: string;
  userId: string;
  toolName: string;
  sessionId: string;
  traceId: string;
  tenantId: string;
  /** As `datetime-local` inputs have it: local time without a zone. */
  from: string;
  to: string;
}

export const NO_FILTERS: CallFilters = {
  status: "",
  serverId: "",
  agentId: "",
  userId: "",
  toolName: "",
  sessionId: "",
  traceId: "",
  tenantId: "",
  from: "",
  to: "",
};

export const CALLS_PAGE_SIZE = 50;

export function callQuery(filters: CallFilters, offset: number): CallQuery {
  const query: CallQuery = { limit: CALLS_PAGE_SIZE, offset };
  const texts = {
    server_id: filters.serverId,
    agent_id: filters.agentId,
    user_id: filters.userId,
    tool_name: filters.toolName,
    session_id: filters.sessionId,
    trace_id: filters.traceId,
    tenant_id: filters.tenantId,
  };
  for (const [name, text] of Object.entries(texts))
    if (text.trim() !== "") Object.assign(query, { [name]: text.trim() });
  if (filters.status !== "") query.status = filters.status;
  const from = utcOf(filters.from);
  const to = utcOf(filters.to);
  if (from !== null) query.from = from;
  if (to !== null) query.to = to;
  return query;
}

function utcOf(local: string): string | null {
  const at = new Date(local);
  return local === "" || Number.isNaN(at.getTime()) ? null : at.toISOString();
}

export function hasFilters(filters: CallFilters): boolean {
  return Object.values(filters).some((value) => value !== "");
}
