/** The data sources for administrators. */

import { queryOptions } from "@tanstack/react-query";

import { api, call, type Schemas } from "@/api/client";

export type Source = Schemas["SourceInfo"];

export const SOURCES = ["admin", "sources"];
/** What a change of a source or its rules invalidates, on this page and elsewhere. */
export const SOURCE_KEYS = [SOURCES, ["admin", "view-as"], ["sources"]];

export const sourcesQuery = queryOptions({
  queryKey: [...SOURCES, "all"],
  queryFn: () => call(api.GET("/api/v1/data-sources")),
});

export const pathOf = (source: Source) => ({ path: { source_id: source.source_id } });
