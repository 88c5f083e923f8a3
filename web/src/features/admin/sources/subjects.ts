/** Users, tenants and agents that a source can be opened to, and what they are called. */

import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";

import { agentsQuery } from "@/api/queries";

import { usePeople } from "../parts/people";
import { tenantsQuery } from "../tenants/queries";
import type { Grant } from "./queries";

export type NamedKind = Exclude<Grant["subject_kind"], "everyone">;

export const NAMED_KINDS: readonly NamedKind[] = ["user", "tenant", "agent"];

export interface Subject {
  id: string;
  name: string;
}

export function useSubjects(): Record<NamedKind, Subject[]> {
  const people = usePeople();
  const tenants = useQuery(tenantsQuery).data?.items ?? [];
  const agents = useQuery(agentsQuery).data?.items ?? [];
  return {
    user: people.map(({ id, username }) => ({ id, name: username })),
    tenant: tenants.map(({ tenant_id, name }) => ({ id: tenant_id, name })),
    agent: agents.map(({ id, name }) => ({ id, name })),
  };
}

/**
 * A grant → the name to show. An id that nothing here has is shown as such: it may be a mistake.
 */
export function useSubjectName(): (grant: Grant) => string {
  const { t } = useTranslation("admin");
  const subjects = useSubjects();
  return ({ subject_kind: kind, subject_id: id }) => {
    if (kind === "everyone") return t("sources.everyone");
    if (subjects[kind].length === 0) return id; // not here yet
    const known = subjects[kind].find((each) => each.id === id);
    return known?.name ?? t("sources.access.unknown", { id });
  };
}
