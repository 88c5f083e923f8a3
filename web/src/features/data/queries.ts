/** What is asked of the server about data sources. */

import { queryOptions } from "@tanstack/react-query";

import { api, call, type Schemas } from "@/api/client";
import type { Json } from "@/events/types";

import { firstRowsSql } from "./quoting";

export type Source = Schemas["SourceInfo"];
export type Catalogue = Schemas["CatalogueInfo"];
export type SourceTable = Schemas["TableInfo"];

const FIRST_ROWS = 20;

export function catalogueQuery(sourceId: string, search = "") {
  const words = search.trim();
  return queryOptions({
    queryKey: ["sources", sourceId, "catalogue", words],
    queryFn: ({ signal }) =>
      call(
        api.GET("/api/v1/data-sources/{source_id}/catalogue", {
          params: { path: { source_id: sourceId }, query: words ? { search: words } : {} },
          signal,
        }),
      ),
    staleTime: 60_000,
  });
}

interface TableSample {
  columns: Schemas["ResultColumnInfo"][];
  rows: Json[][];
  policy: string[];
}

/** A table's first rows. The result is not kept: it was only looked at. */
export function firstRowsQuery(sourceId: string, table: SourceTable, dialect: string) {
  return queryOptions({
    queryKey: ["sources", sourceId, "rows", table.key],
    queryFn: async ({ signal }): Promise<TableSample> => {
      const answer = await call(
        api.POST("/api/v1/data-sources/{source_id}/query", {
          params: { path: { source_id: sourceId } },
          body: { sql: firstRowsSql(table, dialect, FIRST_ROWS), title: table.key.slice(0, 200) },
          signal,
        }),
      );
      void forget(answer.artifact.artifact_id);
      const rows = answer.preview as Json[][]; // cells are JSON
      return { columns: answer.columns, rows, policy: answer.policy };
    },
    staleTime: 60_000,
  });
}

/** Best effort: a result that stays expires by itself. */
async function forget(artifactId: string): Promise<void> {
  const path = { artifact_id: artifactId };
  await api.DELETE("/api/v1/artifacts/{artifact_id}", { params: { path } }).catch(() => null);
}

export async function refreshSource(sourceId: string) {
  const path = { source_id: sourceId };
  return call(api.POST("/api/v1/data-sources/{source_id}/refresh", { params: { path } }));
}

export async function deleteSource(sourceId: string) {
  const path = { source_id: sourceId };
  return call(api.DELETE("/api/v1/data-sources/{source_id}", { params: { path } }));
}
