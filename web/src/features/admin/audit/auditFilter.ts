/** The filters of the audit log → the query of its route. */

import type { operations } from "@/api/schema";

type AuditQuery = NonNullable<operations["list_audit"]["parameters"]["query"]>;
type AuditOutcome = NonNullable<AuditQuery["outcome"]>;

export const OUTCOMES: readonly AuditOutcome[] = ["success", "denied", "failed"];
export const AUDIT_PAGE_SIZE = 50;

export interface AuditFilter {
  userId: string;
  action: string;
  outcome: string;
  runId: string;
  /** As a control for date and time has them: the user's own time, without a zone. */
  from: string;
  to: string;
}

export const NO_FILTER: AuditFilter = {
  userId: "",
  action: "",
  outcome: "",
  runId: "",
  from: "",
  to: "",
};

export const FORMATS = ["csv", "jsonl"] as const;

export function queryOf(filter: AuditFilter, offset: number): AuditQuery {
  return { limit: AUDIT_PAGE_SIZE, offset, ...conditionsOf(filter) };
}

/** Where everything that fits the filter is a file. */
export function exportUrl(filter: AuditFilter, format: (typeof FORMATS)[number]): string {
  const query = new URLSearchParams({ format, ...conditionsOf(filter) });
  return `/api/v1/audit/export?${query.toString()}`;
}

function conditionsOf(filter: AuditFilter) {
  const outcome = OUTCOMES.find((each) => each === filter.outcome);
  const from = momentOf(filter.from);
  const to = momentOf(filter.to);
  return {
    ...(filter.userId !== "" && { user_id: filter.userId }),
    ...(filter.action.trim() !== "" && { action: filter.action.trim() }),
    ...(outcome !== undefined && { outcome }),
    ...(filter.runId.trim() !== "" && { run_id: filter.runId.trim() }),
    ...(from !== null && { from }),
    ...(to !== null && { to }),
  };
}

/** The user's own time → UTC; null for none, or for one that is half typed. */
function momentOf(local: string): string | null {
  const moment = new Date(local).getTime();
  return local === "" || Number.isNaN(moment) ? null : new Date(moment).toISOString();
}

export function isFiltered(filter: AuditFilter): boolean {
  return Object.values(filter).some((value) => value !== "");
}
