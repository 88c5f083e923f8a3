/** What the data sources' section asks of the server. */

import { queryOptions } from "@tanstack/react-query";

import { api, call, type Schemas } from "@/api/client";

export type Source = Schemas["SourceInfo"];
export type Policy = Schemas["PolicyInfo"];
export type Grant = Schemas["GrantInfo"];

export const SOURCES = ["admin", "sources"];
/** What a change of a source or its rules makes old, on this page and elsewhere. */
export const TOUCHED = [SOURCES, ["admin", "view-as"], ["sources"]];

export const sourcesQuery = queryOptions({
  queryKey: [...SOURCES, "all"],
  queryFn: () => call(api.GET("/api/v1/data-sources")),
});

export const policiesQuery = (sourceId: string) =>
  queryOptions({
    queryKey: [...SOURCES, "policies", sourceId],
    queryFn: () => {
      const params = { path: { source_id: sourceId } };
      return call(api.GET("/api/v1/data-sources/{source_id}/policies", { params }));
    },
  });

export const catalogueQuery = (sourceId: string) =>
  queryOptions({
    queryKey: [...SOURCES, "catalogue", sourceId],
    queryFn: () => {
      const params = { path: { source_id: sourceId } };
      return call(api.GET("/api/v1/data-sources/{source_id}/catalogue", { params }));
    },
  });

/** What another user sees of a source. It is recorded, so it is asked for only on demand. */
export const viewAsQuery = (sourceId: string, userId: string) =>
  queryOptions({
    queryKey: ["admin", "view-as", sourceId, userId],
    queryFn: () => {
      const params = { path: { source_id: sourceId }, query: { as_user: userId } };
      return call(api.GET("/api/v1/data-sources/{source_id}/catalogue", { params }));
    },
    refetchOnWindowFocus: false,
    enabled: userId !== "",
  });
