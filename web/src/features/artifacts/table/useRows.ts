/** The rows of a large result that are in view, fetched page by page as it is scrolled. */

import { useQueries } from "@tanstack/react-query";

import type { Json } from "@/events/types";

import { pageQuery, type Sort } from "../queries";
import { pagesFor, placeOf } from "./paging";

interface RowsInView {
  /** undefined: on its way. */
  rowAt: (row: number) => Json[] | undefined;
  error: unknown;
  retry: () => void;
}

export function useRows(
  artifactId: string,
  sort: Sort | null,
  total: number,
  view: { first: number; last: number },
): RowsInView {
  const pages = pagesFor(view.first, view.last, total);
  const queries = useQueries({
    queries: pages.map((page) => pageQuery(artifactId, sort, page, total)),
  });
  const failed = queries.filter((query) => query.error !== null);
  return {
    rowAt: (row) => {
      const { page, at } = placeOf(row);
      return queries[pages.indexOf(page)]?.data?.[at];
    },
    error: failed[0]?.error ?? null,
    retry: () => {
      for (const query of failed) void query.refetch();
    },
  };
}
