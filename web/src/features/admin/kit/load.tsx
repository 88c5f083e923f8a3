/** What a query came to: loading, failed, not allowed, or its data. */

import type { UseQueryResult } from "@tanstack/react-query";
import { ShieldX } from "lucide-react";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";

import { ApiError } from "@/api/client";
import { EmptyState, ErrorState, LoadingState } from "@/components/ui/States";

interface LoadedProps<Data> {
  query: UseQueryResult<Data>;
  children: (data: Data) => ReactNode;
  lines?: number;
}

export function Loaded<Data>({ query, children, lines = 5 }: LoadedProps<Data>) {
  const isForbidden = query.error instanceof ApiError && query.error.status === 403;
  if (query.data !== undefined && !isForbidden) return children(query.data);
  if (query.isPending) return <LoadingState lines={lines} />;
  if (isForbidden) return <NoPermission />;
  return <ErrorState error={query.error} onRetry={() => void query.refetch()} />;
}

/** Shown to users who are not administrators, or no longer. */
export function NoPermission() {
  const { t } = useTranslation();
  return <EmptyState icon={ShieldX} title={t("noPermission")} text={t("noPermissionText")} />;
}

export interface Fact {
  name: string;
  value: ReactNode;
}

/** Names and values, one pair a line. */
export function Facts({ facts }: { facts: Fact[] }) {
  return (
    <dl className="grid gap-x-6 gap-y-2 text-sm sm:grid-cols-[max-content_minmax(0,1fr)]">
      {facts.map(({ name, value }) => (
        <div key={name} className="contents">
          <dt className="text-muted">{name}</dt>
          <dd className="mb-1 [overflow-wrap:anywhere] sm:mb-0">{value}</dd>
        </div>
      ))}
    </dl>
  );
}
