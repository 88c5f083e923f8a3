/** Grants: who may read a data source. */

import type { Schemas } from "@/api/client";

export type Grant = Schemas["GrantInfo"];

export const EVERYONE: Grant = { subject_kind: "everyone", subject_id: "" };

export function isForEveryone(grants: readonly Grant[]): boolean {
  return grants.some((grant) => grant.subject_kind === "everyone");
}

export function grantKey(grant: Grant): string {
  return `${grant.subject_kind}:${grant.subject_id}`;
}

/** Adds a grant; the same one twice is one. */
export function added(grants: readonly Grant[], grant: Grant): Grant[] {
  return [...removed(grants, grant), grant];
}

export function removed(grants: readonly Grant[], grant: Grant): Grant[] {
  return grants.filter((each) => grantKey(each) !== grantKey(grant));
}
