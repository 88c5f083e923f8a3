/** What is asked of the server about artefacts. A result never changes, so it is asked for once. */

import { queryOptions } from "@tanstack/react-query";

import { api, ApiError, call, type Schemas } from "@/api/client";

import type { Json } from "@/events/types";

import { fullPage, ROWS_PAGE_SIZE } from "./table/paging";

export type Artifact = Omit<Schemas["ArtifactDetail"], "page"> & {
  page?: { rows: Json[][] } | null;
};

export interface Sort {
  column: string;
  isDescending: boolean;
}

interface RowsAsked {
  limit: number;
  offset: number;
  sort?: string[];
}

async function fetchArtifact(
  artifactId: string,
  rows: RowsAsked | null,
  signal: AbortSignal,
): Promise<Artifact> {
  const answer = await call(
    api.GET("/api/v1/artifacts/{artifact_id}", {
      params: { path: { artifact_id: artifactId }, query: rows ?? {} },
      signal,
    }),
  );
  if (typeof answer === "object" && "artifact_id" in answer) return answer as Artifact; // cells are JSON
  throw new ApiError(500, "error", "The server sent a file where a page was asked for.");
}

/** An artefact without rows; a chart with its specification and values. */
export function artifactQuery(artifactId: string) {
  return queryOptions({
    queryKey: ["artifacts", artifactId],
    queryFn: ({ signal }) => fetchArtifact(artifactId, null, signal),
    staleTime: Infinity,
  });
}

/** An artefact with some of its rows, in the order of the result. */
export function rowsQuery(artifactId: string, offset: number, limit: number) {
  return queryOptions({
    queryKey: ["artifacts", artifactId, "rows", offset, limit],
    queryFn: ({ signal }) => fetchArtifact(artifactId, { offset, limit }, signal),
    staleTime: Infinity,
  });
}

/** One page of a table, whole even where the server sends it in parts. */
export function pageQuery(artifactId: string, sort: Sort | null, page: number, total: number) {
  const terms = sort ? [`${sort.isDescending ? "-" : ""}${sort.column}`] : [];
  const offset = page * ROWS_PAGE_SIZE;
  return queryOptions({
    queryKey: ["artifacts", artifactId, "page", terms, page],
    queryFn: ({ signal }) =>
      fullPage(offset, Math.min(ROWS_PAGE_SIZE, total - offset), async (from, limit) => {
        const asked = { offset: from, limit, sort: terms };
        return (await fetchArtifact(artifactId, asked, signal)).page?.rows ?? [];
      }),
    staleTime: Infinity,
    gcTime: 60_000,
  });
}

/** Whether an artefact was deleted or has expired. */
export function isGone(error: unknown): boolean {
  return error instanceof ApiError && (error.status === 404 || error.status === 410);
}

/** The address of an artefact as a file. */
export function fileUrl(artifactId: string, format: string): string {
  return `/api/v1/artifacts/${encodeURIComponent(artifactId)}?format=${format}`;
}
