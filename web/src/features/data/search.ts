/** What a search found, without what is only related to it. Pure. */

import type { Catalogue, SourceTable } from "./queries";

export interface Found {
  table: SourceTable;
  /** Its columns, those that fit best first. */
  columns: string[];
  score: number;
}

const MOST_COLUMNS = 5;

/** Tables that fit by themselves; those that only join one of them are left out. */
export function foundIn(catalogue: Catalogue): Found[] {
  const tables = new Map(catalogue.tables.map((table) => [table.key, table]));
  return (catalogue.hits ?? []).flatMap((hit) => {
    const table = tables.get(hit.table_key);
    if (!table || isOnlyJoined(hit.why)) return [];
    return [{ table, columns: hit.columns.slice(0, MOST_COLUMNS), score: hit.score }];
  });
}

function isOnlyJoined(why: string): boolean {
  return why.startsWith("joins ") && !why.includes(";");
}
