/** The data sources for administrators. */

import { queryOptions } from "@tanstack/react-query";

import { api, call } from "@/api/client";
import type { Source } from "@/features/data/queries";

export const SOURCES = ["admin", "sources"];
/** What a change of a source or its rules invalidates, on this page and elsewhere. */
export const SOURCE_KEYS = [SOURCES, ["admin", "view-as"], ["sources"]];

export const allSourcesQuery = queryOptions({
  queryKey: [...SOURCES, "all"],
  queryFn: () => call(api.GET("/api/v1/data-sources")),
});

export const pathOf = (source: Source) => ({ path: { source_id: source.source_id } });
