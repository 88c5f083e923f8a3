/** What a question to the server came to: on its way, failed, not allowed, or here. */

import type { UseQueryResult } from "@tanstack/react-query";
import type { ReactNode } from "react";

import { ApiError } from "@/api/client";
import { ErrorState, LoadingState } from "@/components/ui/States";

import { NoPermission } from "../NoPermission";

interface LoadedProps<Data> {
  query: UseQueryResult<Data>;
  children: (data: Data) => ReactNode;
  lines?: number;
}

export function Loaded<Data>({ query, children, lines = 5 }: LoadedProps<Data>) {
  if (query.data !== undefined && !isForbidden(query.error)) return children(query.data);
  if (query.isPending) return <LoadingState lines={lines} />;
  if (isForbidden(query.error)) return <NoPermission />;
  return <ErrorState error={query.error} onRetry={() => void query.refetch()} />;
}

export function isForbidden(error: unknown): boolean {
  return error instanceof ApiError && error.status === 403;
}
